// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/forward.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "common/support/json_object.hh"
#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/tensors/tensor_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A linear layer of two pixels and two classes; each test has its own folder.
class Forward : public ::testing::Test {
 protected:
  Forward() {
    save_tensors({{"fc1.weight", torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2})},
                  {"fc1.bias", torch::tensor({10.0F, 20.0F})}},
                 path("weights.pt"));
    save_inputs(torch::tensor({1.0F, 1.0F, 0.0F, 2.0F}).view({2, 1, 1, 2}));
  }

  std::string path(const std::string& name) const { return folder_.path() / name; }
  void save_inputs(const torch::Tensor& inputs) const {
    save_tensors({{"inputs", inputs}}, path("inputs.pt"));
  }
  void run() const {
    std::ofstream(path("forward.json")) << json_;
    forward(path("forward.json"));
  }

  TemporaryFolder folder_;
  Json json_ = {{"schema_version", 1},
                {"model", {{"name", "mlp"}, {"hidden", Json::array()}}},
                {"shape", {{"channels", 1}, {"height", 1}, {"width", 2}, {"classes", 2}}},
                {"weights", path("weights.pt")},
                {"inputs", path("inputs.pt")},
                {"output", path("logits.pt")}};
};

TEST_F(Forward, WritesTheModelsLogits) {
  run();
  const TensorMap output = load_tensors(path("logits.pt"));
  ASSERT_EQ(output.size(), 1U);
  EXPECT_TRUE(output.at("logits").equal(torch::tensor({13.0F, 27.0F, 14.0F, 28.0F}).view({2, 2})));
}

TEST_F(Forward, NamesWhatDoesNotFit) {
  save_inputs(torch::zeros({2, 1, 2, 2}));
  EXPECT_THAT(
      [&] { run(); },
      ThrowsMessage<Error>(HasSubstr("inputs.pt is Float [2, 1, 2, 2], but Float [2, 1, 1, 2] is needed")));
  save_inputs(torch::zeros({}));
  EXPECT_THAT([&] { run(); }, ThrowsMessage<Error>(HasSubstr("but Float [1, 1, 1, 2] is needed")));
  json_["inputs"] = path("weights.pt");
  EXPECT_THAT([&] { run(); }, ThrowsMessage<Error>(HasSubstr("weights.pt has no tensor \"inputs\"")));
  save_inputs(torch::zeros({2, 1, 1, 2}));
  json_["inputs"] = path("inputs.pt");
  save_tensors({{"fc1.weight", torch::zeros({2, 2})}}, path("weights.pt"));
  EXPECT_THAT([&] { run(); }, ThrowsMessage<Error>(HasSubstr("fc1.bias: missing")));
}

TEST_F(Forward, RefusesTokensThatTheModelDoesNotKnow) {
  json_["shape"] = {{"sequence_length", 2}, {"classes", 3}};
  json_["model"] = {{"name", "gpt"}, {"width", 2}, {"depth", 1}, {"heads", 1}};
  save_tensors({}, path("weights.pt"));
  save_inputs(torch::tensor({{0, 3}}, torch::kLong));
  EXPECT_THAT([&] { run(); }, ThrowsMessage<Error>(HasSubstr("has a token outside 0..2")));
}

TEST_F(Forward, RefusesAShapeThatIsNeitherImagesNorText) {
  json_["shape"]["sequence_length"] = 4;
  EXPECT_THAT([&] { run(); },
              ThrowsMessage<InputError>(
                  HasSubstr("/shape/channels: unknown key \"channels\"; known: classes, sequence_length")));
  json_["shape"] = {{"classes", 2}};
  EXPECT_THAT([&] { run(); }, ThrowsMessage<InputError>(HasSubstr("channels")));
  json_["schema_version"] = 2;
  EXPECT_THAT([&] { run(); }, ThrowsMessage<InputError>(HasSubstr("/schema_version")));
}

}  // namespace
}  // namespace thinpipe::trainer
