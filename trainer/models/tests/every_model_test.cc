// Properties of every registered model. Large models are left out if a small model of the
// same code is tested.
#include <set>

#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"

namespace thinpipe::trainer {
namespace {

std::vector<std::string> all_names() {
  return ModelRegistry::instance().names();
}

std::vector<std::string> names_of_small_ones() {
  const std::set<std::string> big = {"resnet18", "resnet152", "vgg19", "vit_b_16", "gpt2_small"};
  std::vector<std::string> names;
  for (const std::string& name : all_names()) {
    if (!big.contains(name)) names.push_back(name);
  }
  return names;
}

bool reads_text(const std::string& name) {
  return name.starts_with("gpt");
}

class SmallModel : public ::testing::TestWithParam<std::string> {};

TEST_P(SmallModel, MapsInputsToLogitsAndTrainsEveryParameter) {
  const std::vector<DataShape> images = {
      kFashion, kCifar, {.channels = 2, .height = 4, .width = 8, .classes = 3}};
  const std::vector<DataShape> texts = {kText, {.classes = 3, .sequence_length = 1}};
  for (const DataShape& data : reads_text(GetParam()) ? texts : images) {
    torch::manual_seed(1);
    const auto model = make({{"name", GetParam()}}, data);
    perturb(*model);
    expect_training(*model, data);
  }
}

TEST_P(SmallModel, CanBeDifferentiatedTwice) {
  const DataShape data =
      reads_text(GetParam()) ? kText : DataShape{.channels = 1, .height = 8, .width = 8, .classes = 3};
  torch::manual_seed(2);
  const auto model = make({{"name", GetParam()}}, data);
  perturb(*model);
  expect_second_derivative(*model, data);
}

TEST_P(SmallModel, TheSameSeedGivesTheSameWeights) {
  const auto weights = [](std::uint64_t seed) {
    torch::manual_seed(seed);
    std::vector<torch::Tensor> parts;
    const auto model = make({{"name", GetParam()}}, reads_text(GetParam()) ? kText : kFashion);
    for (const torch::Tensor& parameter : model->parameters()) parts.push_back(parameter.flatten());
    for (const torch::Tensor& buffer : model->buffers())
      parts.push_back(buffer.flatten().to(torch::kFloat32));
    return torch::cat(parts);
  };
  const torch::Tensor first = weights(7);
  EXPECT_TRUE(first.equal(weights(7)));
  EXPECT_FALSE(first.equal(weights(8)));
}

TEST_P(SmallModel, InEvaluationModeGivesTheSameLogitsTwice) {
  const DataShape data = reads_text(GetParam()) ? kText : kFashion;
  const auto model = make({{"name", GetParam()}}, data);
  model->eval();
  const torch::NoGradGuard no_grad;
  const torch::Tensor inputs = random_inputs(2, data);
  EXPECT_TRUE(model->forward(inputs).equal(model->forward(inputs)));
}

TEST_P(SmallModel, HeadsWeightHasARowForEachClass) {
  DataShape data = reads_text(GetParam()) ? kText : kFashion;
  data.classes = 13;
  const auto model = make({{"name", GetParam()}}, data);
  const auto all = model->named_parameters();
  const torch::Tensor* weight = all.find(model->head() + ".weight");
  ASSERT_NE(weight, nullptr) << model->head();
  EXPECT_EQ(weight->size(0), 13);
}

const auto name_of = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Models, SmallModel, ::testing::ValuesIn(names_of_small_ones()), name_of);

class AnyModel : public ::testing::TestWithParam<std::string> {};

TEST_P(AnyModel, RefusesDataOfTheOtherKind) {
  const bool text = reads_text(GetParam());
  const std::string message = refusal({{"name", GetParam()}}, text ? kCifar : kText);
  EXPECT_NE(message.find("experiment.json at /model: "), std::string::npos) << message;
  const char* const rule = text                  ? "reads text, but the data set has images"
                           : GetParam() == "mlp" ? "classifies images or vectors, but the data set is text"
                                                 : "classifies images, but the data set is text";
  EXPECT_NE(message.find(rule), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Models, AnyModel, ::testing::ValuesIn(all_names()), name_of);

}  // namespace
}  // namespace thinpipe::trainer
