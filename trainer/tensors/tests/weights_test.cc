// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/weights.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Network : public torch::nn::Module {
 public:
  explicit Network(std::int64_t classes = 10) {
    register_module("norm", torch::nn::BatchNorm1d(3));
    register_module("fc", torch::nn::Linear(3, classes));
  }
};

// Returns weights of another network with that many classes, so that every value differs
// from a new network's.
TensorMap weights_for(std::int64_t classes = 10) {
  TensorMap weights;
  double value = 1;
  for (const auto& [name, tensor] : weights_of(Network(classes))) {
    weights[name] = torch::full_like(tensor.detach(), value++);
  }
  return weights;
}

std::string refusal(const TensorMap& tensors, const WeightRules& rules = {}) {
  Network network;
  const TensorMap before = weights_of(network);
  TensorMap copies;
  for (const auto& [name, tensor] : before) copies[name] = tensor.detach().clone();
  try {
    load_weights(network, tensors, "w.pt", rules);
  } catch (const Error& error) {
    for (const auto& [name, tensor] : before) EXPECT_TRUE(tensor.equal(copies.at(name))) << name;
    return error.what();
  }
  return "accepted";
}

TEST(LoadWeights, CopiesParametersAndBuffers) {
  Network network;
  const TensorMap weights = weights_for();
  EXPECT_THAT(load_weights(network, weights, "w.pt"), IsEmpty());
  const TensorMap loaded = weights_of(network);
  ASSERT_EQ(loaded.size(), weights.size());
  EXPECT_EQ(loaded.size(), 7);
  for (const auto& [name, tensor] : loaded) EXPECT_TRUE(tensor.equal(weights.at(name))) << name;
}

TEST(LoadWeights, ListsAllThatDoesNotFitAndCopiesNothing) {
  TensorMap weights = weights_for();
  weights.erase("norm.weight");
  weights["fc.bias"] = torch::zeros({9});
  weights["norm.running_mean"] = torch::zeros({3}, torch::kLong);
  weights["norm.num_batches_tracked"] = torch::zeros({});
  weights["extra"] = torch::zeros({2, 2}, torch::kHalf);
  EXPECT_EQ(refusal(weights),
            "w.pt does not fit the model:\n"
            "  fc.bias: the file has Float [9], the model needs Float [10]\n"
            "  norm.num_batches_tracked: the file has Float [], the model needs Long []\n"
            "  norm.running_mean: the file has Long [3], the model needs Float [3]\n"
            "  norm.weight: missing; the model needs Float [3]\n"
            "  extra: the model has no such tensor; the file has Half [2, 2]");
}

// Lists names of both sides, even if one side has very many.
TEST(LoadWeights, ListsAtMostTenOfEachKind) {
  TensorMap weights = weights_for();
  weights.erase("norm.weight");
  for (int i = 10; i < 20; ++i) weights["extra" + std::to_string(i)] = torch::zeros({1});
  EXPECT_THAT(refusal(weights), AllOf(HasSubstr("extra19"), Not(HasSubstr("more"))));
  weights["extra20"] = torch::zeros({1});
  weights["extra21"] = torch::zeros({1});
  EXPECT_THAT(refusal(weights),
              AllOf(HasSubstr("norm.weight: missing"), HasSubstr("extra19"), Not(HasSubstr("extra20")),
                    EndsWith("\n  and 2 more that the model lacks")));
}

TensorMap after(const TensorMap& tensors, const std::string& prefix) {
  TensorMap out;
  for (const auto& [name, tensor] : tensors) out[prefix + name] = tensor;
  return out;
}

TEST(LoadWeights, FindsTheModelAfterTheNamesOfWrappers) {
  for (const std::string prefix : {"module.", "model.", "net.backbone.", "ema_model.module."}) {
    TensorMap weights = after(weights_for(), prefix);
    weights["n_averaged"] = torch::zeros({});
    weights["criterion.weight"] = torch::zeros({10});
    Network network;
    EXPECT_THAT(load_weights(network, weights, "w.pt"),
                ElementsAre("w.pt: the model's tensors are those whose names begin with \"" + prefix + '"',
                            "w.pt: 2 other tensors are ignored: criterion.weight, n_averaged"));
    EXPECT_TRUE(weights_of(network).at("fc.weight").equal(weights.at(prefix + "fc.weight")));
  }
}

TEST(LoadWeights, ShowsTheFilesNamesAfterAPrefix) {
  TensorMap weights = after(weights_for(1000), "model.");
  weights["model.extra"] = torch::zeros({1});
  EXPECT_EQ(refusal(weights),
            "w.pt does not fit the model:\n"
            "  model.fc.bias: the file has Float [1000], the model needs Float [10]\n"
            "  model.fc.weight: the file has Float [1000, 3], the model needs Float [10, 3]\n"
            "  model.extra: the model has no such tensor; the file has Float [1]");
  weights.erase("model.extra");
  EXPECT_EQ(refusal(weights, {.head = "fc", .new_head = true}), "accepted");
}

TEST(LoadWeights, ChoosesNoneOfTwoModels) {
  TensorMap weights = after(weights_for(), "model.");
  weights.merge(after(weights_for(), "ema."));
  EXPECT_THAT(refusal(weights),
              AllOf(HasSubstr("occur after each of \"ema.\", \"model.\""), HasSubstr("fc.weight: missing"),
                    HasSubstr("ema.fc.weight: the model has no")));
}

class Precisions : public ::testing::TestWithParam<torch::ScalarType> {};

TEST_P(Precisions, AreConvertedAndSaidToBe) {
  TensorMap weights = weights_for();
  for (auto& [name, tensor] : weights) {
    if (tensor.is_floating_point()) tensor = tensor.to(GetParam());
  }
  Network network;
  EXPECT_THAT(
      load_weights(network, weights, "w.pt"),
      ElementsAre(std::string("w.pt: 6 tensors converted from ") + c10::toString(GetParam()) + " to Float"));
  const TensorMap expected = weights_for();
  for (const auto& [name, tensor] : weights_of(network)) {
    EXPECT_EQ(tensor.scalar_type(), expected.at(name).scalar_type());
    EXPECT_TRUE(tensor.equal(expected.at(name))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(LoadWeights, Precisions,
                         ::testing::Values(torch::kHalf, torch::kBFloat16, torch::kDouble),
                         [](const auto& test) { return c10::toString(test.param); });

TEST(LoadWeights, CountersOfOlderFilesMayBeMissing) {
  TensorMap weights = weights_for();
  weights.erase("norm.num_batches_tracked");
  Network network;
  EXPECT_THAT(load_weights(network, weights, "w.pt"),
              ElementsAre("w.pt lacks these counters, which stay unchanged: norm.num_batches_tracked"));
  EXPECT_EQ(weights_of(network).at("norm.num_batches_tracked").item<std::int64_t>(), 0);
  EXPECT_EQ(weights_of(network).at("norm.weight")[0].item<float>(),
            weights.at("norm.weight")[0].item<float>());
}

TEST(LoadWeights, HintsAtANewHeadWhenOnlyTheHeadDoesNotFit) {
  const WeightRules rules{.head = "fc"};
  TensorMap weights = weights_for(1000);
  EXPECT_THAT(refusal(weights, rules),
              HasSubstr("with \"head\": \"new\" it starts from random weights, and all else is loaded"));
  EXPECT_THAT(refusal(weights), Not(HasSubstr("\"new\"")));  // the head is unknown
  weights.erase("norm.bias");
  EXPECT_THAT(refusal(weights, rules), Not(HasSubstr("\"new\"")));
}

TEST(LoadWeights, LeavesANewHeadAsInitialised) {
  TensorMap weights = weights_for(1000);
  weights["fc.scale"] = torch::ones({1});
  Network network;
  const torch::Tensor head = weights_of(network).at("fc.weight").detach().clone();
  EXPECT_THAT(load_weights(network, weights, "w.pt", WeightRules{.head = "fc", .new_head = true}),
              ElementsAre("the 2 tensors of the head \"fc\" start from random weights"));
  EXPECT_TRUE(weights_of(network).at("fc.weight").equal(head));
  EXPECT_TRUE(weights_of(network).at("norm.weight").equal(weights.at("norm.weight")));
  // A file without the head is also accepted; any other missing tensor is an error.
  for (const char* const name : {"fc.weight", "fc.bias", "fc.scale"}) weights.erase(name);
  EXPECT_EQ(refusal(weights, {.head = "fc", .new_head = true}), "accepted");
  weights["fc2.weight"] = torch::zeros({1});
  EXPECT_THAT(refusal(weights, {.head = "fc", .new_head = true}),
              HasSubstr("fc2.weight: the model has no such"));
}

TEST(LoadWeights, OfACheckpointIsExactAndLeavesTheRestAlone) {
  TensorMap state = {{"mask", torch::zeros({1})}};
  for (const auto& [name, tensor] : weights_for()) state["model." + name] = tensor;
  Network network;
  load_weights(network, state, "checkpoint", "model.");
  EXPECT_TRUE(weights_of(network).at("fc.weight").equal(state.at("model.fc.weight")));
  const auto fails = [&](const std::string& message) {
    try {
      load_weights(network, state, "checkpoint", "model.");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message);
      return true;
    }
    return false;
  };
  state["model.fc.bias"] = torch::zeros({10}, torch::kHalf);
  EXPECT_TRUE(fails("tensor \"model.fc.bias\" of checkpoint is Half [10], but Float [10] is needed"));
  state.erase("model.fc.bias");
  EXPECT_TRUE(fails("checkpoint has no tensor \"model.fc.bias\""));
}

}  // namespace
}  // namespace thinpipe::trainer
