// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Json kTiny = {{"name", "char_lstm"}, {"embedding", 3}, {"width", 5}};

Json with(Json options, const Json& more) {
  options.update(more);
  return options;
}

TEST(Lstm, HasTheNamesOfPyTorchsExample) {
  const std::vector<std::string> tied = {
      "encoder.weight [11, 3]",   "rnn.weight_ih_l0 [20, 3]", "rnn.weight_hh_l0 [20, 5]",
      "rnn.bias_ih_l0 [20]",      "rnn.bias_hh_l0 [20]",      "rnn.weight_ih_l1 [20, 5]",
      "rnn.weight_hh_l1 [20, 5]", "rnn.bias_ih_l1 [20]",      "rnn.bias_hh_l1 [20]"};
  std::vector<std::string> untied = tied;
  untied.insert(untied.end(), {"decoder.weight [11, 5]", "decoder.bias [11]"});
  EXPECT_EQ(parameters(*make(kTiny, kText)), untied);
  EXPECT_EQ(make(kTiny, kText)->head(), "decoder");
  const auto shared = make(with(kTiny, {{"embedding", 5}, {"tied_head", true}}), kText);
  std::vector<std::string> as_large = tied;
  as_large[0] = "encoder.weight [11, 5]";
  as_large[1] = "rnn.weight_ih_l0 [20, 5]";
  EXPECT_EQ(parameters(*shared), as_large);
  EXPECT_EQ(shared->head(), "encoder");
}

// Zaremba et al. have a vocabulary of 10,000 words; PyTorch's layers have two biases where one would do.
TEST(Lstm, ForWordsHasZarembasMediumSize) {
  const auto model = make({{"name", "word_lstm"}}, {.classes = 10'000, .sequence_length = 35});
  EXPECT_EQ(count(*model), 10'000 * 650 + 2 * (4 * 650 * (650 + 650 + 2)) + 10'000 * 651);
  EXPECT_EQ(dropouts(*model), (std::vector<double>{0.5, 0.5}));
}

TEST(Lstm, SeesNoTokenBeforeItsTurnAndAllAfterwards) {
  torch::manual_seed(1);
  const auto model = make(kTiny, kText);
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = random_inputs(1, kText);
  const torch::Tensor before = model->forward(tokens);
  for (std::int64_t changed = 0; changed < kText.sequence_length; ++changed) {
    torch::Tensor others = tokens.clone();
    others[0][changed] = (others[0][changed] + 1).remainder(kText.classes);
    const torch::Tensor difference = (model->forward(others) - before).abs().sum(-1)[0];
    EXPECT_EQ(difference.narrow(0, 0, changed).count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(difference.slice(0, changed).count_nonzero().item<std::int64_t>(),
              kText.sequence_length - changed);
  }
}

TEST(Lstm, HasASecondDerivative) {
  for (const bool tied : {true, false}) {
    torch::manual_seed(3);
    const auto model = make(with(kTiny, {{"embedding", 5}, {"tied_head", tied}}), kText);
    EXPECT_LT(second_derivative_error(*model, kText), 1e-6);
  }
}

TEST(Lstm, PrunesRecurrentAndLinearLayersAndNoEmbeddings) {
  std::vector<std::string> names;
  for (const auto& [name, weight] : prunable_weights(*make(kTiny, kText))) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.weight_ih_l1",
                                 "rnn.weight_hh_l1", "decoder.weight"));
}

TEST(Lstm, SaysWhatIsWrongWithItsOptions) {
  EXPECT_THAT(refusal(with(kTiny, {{"tied_head", true}}), kText),
              HasSubstr("/model/tied_head: needs an embedding as large as width"));
}

}  // namespace
}  // namespace thinpipe::trainer
