// SPDX-License-Identifier: Apache-2.0
// Decoder-only transformers with GPT-2's architecture: learned positions, pre-norm blocks, GELU by its tanh
// approximation, no dropout. Parameters have nanoGPT's names; linear weights are [out, in], as there.
// Radford et al.: Language Models are Unsupervised Multitask Learners (2019), section 2.3.
#include <cmath>

#include "common/support/options.hh"
#include "trainer/models/layers/attention.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct GptSize {
  std::int64_t width = 0;
  std::int64_t depth = 0;
  std::int64_t heads = 0;
  bool tied_head = true;
};

class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const GptSize& size)
      : heads_(size.heads),
        c_attn_(register_module("c_attn", torch::nn::Linear(size.width, 3 * size.width))),
        c_proj_(register_module("c_proj", torch::nn::Linear(size.width, size.width))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    return c_proj_(attend(c_attn_(x), heads_, AttentionMask::causal));
  }

 private:
  std::int64_t heads_;
  torch::nn::Linear c_attn_;
  torch::nn::Linear c_proj_;
};
TORCH_MODULE(Attention);

class NetworkImpl : public torch::nn::Module {
 public:
  explicit NetworkImpl(std::int64_t width)
      : c_fc_(register_module("c_fc", FilteredLinear(width, 4 * width))),
        c_proj_(register_module("c_proj", FilteredLinear(4 * width, width))) {}

  torch::Tensor forward(const torch::Tensor& x) { return c_proj_(torch::gelu(c_fc_(x), "tanh")); }

 private:
  FilteredLinear c_fc_;
  FilteredLinear c_proj_;
};
TORCH_MODULE(Network);

torch::nn::LayerNorm normalisation(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(const GptSize& size)
      : ln_1_(register_module("ln_1", normalisation(size.width))),
        attn_(register_module("attn", Attention(size))),
        ln_2_(register_module("ln_2", normalisation(size.width))),
        mlp_(register_module("mlp", Network(size.width))) {}

  torch::Tensor forward(const torch::Tensor& tokens) {
    const torch::Tensor x = tokens + attn_(ln_1_(tokens));
    return x + mlp_(ln_2_(x));
  }

 private:
  torch::nn::LayerNorm ln_1_;
  Attention attn_;
  torch::nn::LayerNorm ln_2_;
  Network mlp_;
};
TORCH_MODULE(Block);

struct TransformerImpl : torch::nn::Module {
  TransformerImpl(const GptSize& size, const DataShape& data)
      : wte(register_module("wte", torch::nn::Embedding(data.classes, size.width))),
        wpe(register_module("wpe", torch::nn::Embedding(data.sequence_length, size.width))) {
    for (std::int64_t i = 0; i < size.depth; ++i) h->push_back(Block(size));
    register_module("h", h);
    ln_f = register_module("ln_f", normalisation(size.width));
  }

  torch::Tensor forward(const torch::Tensor& tokens) {
    const torch::Tensor positions = torch::arange(tokens.size(1), tokens.options());
    return ln_f(h->forward(wte(tokens) + wpe(positions)));
  }

  torch::nn::Embedding wte;
  torch::nn::Embedding wpe;
  torch::nn::Sequential h;
  torch::nn::LayerNorm ln_f{nullptr};
};
TORCH_MODULE(Transformer);

// As in GPT-2, each block's output weights shrink with the number of blocks, so that the sum keeps its scale.
void initialise(torch::nn::Module& model, std::int64_t depth) {
  const double residual_deviation = 0.02 / std::sqrt(2 * static_cast<double>(depth));
  model.apply([residual_deviation](const std::string& name, torch::nn::Module& module) {
    if (auto* layer = module.as<torch::nn::Linear>()) {
      torch::nn::init::normal_(layer->weight, 0, name.ends_with("c_proj") ? residual_deviation : 0.02);
      if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
    } else if (auto* embedding = module.as<torch::nn::Embedding>()) {
      torch::nn::init::normal_(embedding->weight, 0, 0.02);
    }
  });
}

class Gpt : public Model {
 public:
  Gpt(const GptSize& size, const DataShape& data)
      : transformer_(register_module("transformer", Transformer(size, data))) {
    if (!size.tied_head) {
      lm_head_ = register_module(
          "lm_head", torch::nn::Linear(torch::nn::LinearOptions(size.width, data.classes).bias(false)));
    }
    initialise(*this, size.depth);
  }

  // tokens: int64 [n, up to sequence_length].
  torch::Tensor forward(const torch::Tensor& tokens) override {
    const torch::Tensor x = transformer_(tokens);
    return lm_head_ ? lm_head_(x) : torch::linear(x, transformer_->wte->weight);
  }

  // A tied head has no parameters of its own: it uses the embedding's.
  std::string head() const override { return lm_head_ ? "lm_head" : "transformer.wte"; }

 private:
  Transformer transformer_;
  torch::nn::Linear lm_head_{nullptr};
};

struct GptOptions {
  GptSize size{.width = 128, .depth = 4, .heads = 4};

  void visit(auto& field) {
    field("width", size.width, Rule{.effect = "units per token", .at_least = 1, .at_most = 4096});
    field("depth", size.depth, Rule{.effect = "transformer blocks", .at_least = 1, .at_most = 100});
    field("heads", size.heads,
          Rule{.effect = "attention heads; must divide width", .at_least = 1, .at_most = 256});
    field("tied_head", size.tied_head, tied_head_rule());
  }

  static Rule tied_head_rule() {
    return {.effect = "if true, the output layer shares the embedding's weights"};
  }
};

struct GptTinyOptions : GptOptions {
  GptTinyOptions() : GptOptions{{.width = 64, .depth = 2, .heads = 2}} {}
};

struct Gpt2SmallOptions {
  GptSize size{.width = 768, .depth = 12, .heads = 12};

  void visit(auto& field) { field("tied_head", size.tied_head, GptOptions::tied_head_rule()); }
};

template <class Options>
std::unique_ptr<Model> make_gpt(JsonObject& object, const DataShape& data) {
  const GptSize size = read_options<Options>(object).size;
  expect_text(object, data);
  expect_even_heads(object, size.width, size.heads);
  return std::make_unique<Gpt>(size, data);
}

THINPIPE_REGISTER(Model){"gpt",
                         "decoder-only transformer on tokens, with GPT-2's architecture and nanoGPT's names",
                         describe_options<GptOptions>(), make_gpt<GptOptions>};
THINPIPE_REGISTER(Model){"gpt_tiny", "small gpt, for a few CPU cores", describe_options<GptTinyOptions>(),
                         make_gpt<GptTinyOptions>};
THINPIPE_REGISTER(Model){"gpt2_small", "gpt with the size of the smallest GPT-2: 12 blocks of 768 units",
                         describe_options<Gpt2SmallOptions>(), make_gpt<Gpt2SmallOptions>};

}  // namespace
}  // namespace thinpipe::trainer
