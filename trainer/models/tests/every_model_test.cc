// SPDX-License-Identifier: Apache-2.0
// Properties of every registered model. Large models are left out if a small model of the
// same code is tested, and models that do not take images of every size.
#include <set>

#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/pruning/scoring.hh"

namespace thinpipe::trainer {
namespace {

std::vector<std::string> all_names() {
  return ModelRegistry::instance().names();
}

std::vector<std::string> names_of_small_ones() {
  const std::set<std::string> others = {"alexnet",  "vgg16",      "vgg19",     "resnet18",
                                        "resnet32", "resnet50",   "resnet56",  "resnet152",
                                        "vit_b_16", "gpt2_small", "word_lstm", "lenet5"};
  std::vector<std::string> names;
  for (const std::string& name : all_names()) {
    if (!others.contains(name)) names.push_back(name);
  }
  return names;
}

bool reads_text(const std::string& name) {
  return name.starts_with("gpt") || name.ends_with("lstm");
}

class SmallModel : public ::testing::TestWithParam<std::string> {};

TEST_P(SmallModel, MapsInputsToLogitsAndTrainsEveryParameter) {
  const std::vector<DataShape> images = {
      kFashion, kCifar, {.channels = 2, .height = 4, .width = 8, .classes = 3}};
  // A recurrent layer has no state to weigh at its first token.
  const std::int64_t shortest = GetParam().ends_with("lstm") ? 2 : 1;
  const std::vector<DataShape> texts = {kText, {.classes = 3, .sequence_length = shortest}};
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

// Otherwise a criterion such as GraSP would score weights that the network does not use.
TEST_P(SmallModel, UsesWhatReplacesItsPrunableWeights) {
  const DataShape data = reads_text(GetParam()) ? kText : kFashion;
  const auto model = make({{"name", GetParam()}}, data);
  perturb(*model);
  const Scoring scoring(*model);
  ASSERT_EQ(scoring.weights().size(), prunable_weights(*model).size());
  const torch::Tensor loss = cross_entropy(model->forward(random_inputs(3, data)), random_labels(3, data));
  for (const torch::Tensor& gradient :
       torch::autograd::grad({loss}, scoring.weights(), {}, {}, false, true)) {
    EXPECT_TRUE(gradient.defined());
  }
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
