// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/models/tests/derivatives.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Json kSmall = {{"name", "gpt"}, {"width", 6}, {"depth", 1}, {"heads", 2}};

Json with(Json options, const std::string& key, const Json& value) {
  options[key] = value;
  return options;
}

TEST(Gpt, HasNanoGptsNames) {
  const std::string block = "transformer.h.0.";
  const std::vector<std::string> expected = {"transformer.wte.weight [11, 6]",
                                             "transformer.wpe.weight [8, 6]",
                                             block + "ln_1.weight [6]",
                                             block + "ln_1.bias [6]",
                                             block + "attn.c_attn.weight [18, 6]",
                                             block + "attn.c_attn.bias [18]",
                                             block + "attn.c_proj.weight [6, 6]",
                                             block + "attn.c_proj.bias [6]",
                                             block + "ln_2.weight [6]",
                                             block + "ln_2.bias [6]",
                                             block + "mlp.c_fc.weight [24, 6]",
                                             block + "mlp.c_fc.bias [24]",
                                             block + "mlp.c_proj.weight [6, 24]",
                                             block + "mlp.c_proj.bias [6]",
                                             "transformer.ln_f.weight [6]",
                                             "transformer.ln_f.bias [6]"};
  EXPECT_EQ(parameters(*make(kSmall, kText)), expected);
  std::vector<std::string> untied = expected;
  untied.emplace_back("lm_head.weight [11, 6]");
  EXPECT_EQ(parameters(*make(with(kSmall, "tied_head", false), kText)), untied);
}

TEST(Gpt, HeadIsTheEmbeddingUnlessUntied) {
  EXPECT_EQ(make(kSmall, kText)->head(), "transformer.wte");
  EXPECT_EQ(make(with(kSmall, "tied_head", false), kText)->head(), "lm_head");
}

// The published count, with OpenAI's vocabulary and context: 124 million.
TEST(Gpt, OfTheSizeOfGpt2SmallHasItsParameters) {
  const DataShape data{.classes = 50257, .sequence_length = 1024};
  EXPECT_EQ(count(*make({{"name", "gpt2_small"}}, data)), 124439808);
}

TEST(Gpt, SeesNoTokenBeforeItsTurn) {
  torch::manual_seed(1);
  const auto model = make(kSmall, kText);
  perturb(*model);
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = random_inputs(1, kText);
  const torch::Tensor before = model->forward(tokens);
  for (std::int64_t changed = 0; changed < kText.sequence_length; ++changed) {
    torch::Tensor others = tokens.clone();
    others[0][changed] = (others[0][changed] + 1).remainder(kText.classes);
    const torch::Tensor difference = (model->forward(others) - before).abs().sum(-1)[0];
    EXPECT_EQ(difference.narrow(0, 0, changed).count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(
        difference.narrow(0, changed, kText.sequence_length - changed).count_nonzero().item<std::int64_t>(),
        kText.sequence_length - changed);
  }
}

TEST(Gpt, TakesShorterTextsAndGivesTheirTokensTheSameLogits) {
  const auto model = make(kSmall, kText);
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = random_inputs(2, kText);
  const torch::Tensor whole = model->forward(tokens);
  EXPECT_TRUE(model->forward(tokens.narrow(1, 0, 3)).allclose(whole.narrow(1, 0, 3), 1e-4, 1e-6));
}

TEST(Gpt, BeginsAsGpt2) {
  torch::manual_seed(1);
  const auto model = make({{"name", "gpt"}, {"depth", 8}, {"tied_head", false}}, kText);
  for (const auto& parameter : model->named_parameters()) {
    const std::string& name = parameter.key();
    const torch::Tensor& values = parameter.value();
    if (name.ends_with("bias")) {
      EXPECT_EQ(values.count_nonzero().item<std::int64_t>(), 0) << name;
    } else if (name.find("ln_") != std::string::npos) {
      EXPECT_TRUE(values.eq(1).all().item<bool>()) << name;
    } else {
      const double expected = name.ends_with("c_proj.weight") ? 0.02 / 4 : 0.02;  // 4 = sqrt(2 * 8)
      EXPECT_NEAR(values.std().item<double>() / expected, 1, 0.06) << name;
    }
  }
  // Before training, each token is as likely as any other.
  const torch::Tensor loss = cross_entropy(model->forward(random_inputs(8, kText)), random_labels(8, kText));
  EXPECT_NEAR(loss.item<double>(), std::log(11.0), 0.1);
}

TEST(Gpt, HasASecondDerivative) {
  for (const bool tied : {true, false}) {
    torch::manual_seed(3);
    const auto model = make(with(kSmall, "tied_head", tied), kText);
    EXPECT_LT(second_derivative_error(*model, kText), 1e-6);
  }
}

TEST(Gpt, PrunesLinearLayersAndNoEmbeddings) {
  std::vector<std::string> names;
  for (const auto& [name, weight] : prunable_weights(*make(kSmall, kText))) names.push_back(name);
  const std::string block = "transformer.h.0.";
  EXPECT_THAT(names, ElementsAre(block + "attn.c_attn.weight", block + "attn.c_proj.weight",
                                 block + "mlp.c_fc.weight", block + "mlp.c_proj.weight"));
}

TEST(Gpt, SaysWhatIsWrongWithItsInput) {
  EXPECT_THAT(
      refusal({{"name", "gpt"}}, kCifar),
      HasSubstr("/model: reads text, but the data set has images; use the model small_cnn, resnet18 or "
                "vit_tiny, or a data set of text"));
  EXPECT_THAT(refusal({{"name", "gpt"}, {"heads", 3}}, kText),
              HasSubstr("/model/heads: must divide the width, but 128 is not a multiple of 3"));
  EXPECT_THAT(refusal({{"name", "gpt_tiny"}, {"dropout", 0.1}}, kText), HasSubstr("unknown key \"dropout\""));
}

}  // namespace
}  // namespace thinpipe::trainer
