// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/vision_transformer.hh"

#include <cmath>

#include <fmt/format.h>

#include "trainer/models/layers/attention.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/layers/filtered_layers.hh"

namespace thinpipe::trainer {
namespace {

torch::nn::LayerNorm vit_normalisation(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-6));
}

torch::nn::Sequential network(std::int64_t width, double dropout) {
  torch::nn::Sequential layers(FilteredLinear(width, 4 * width), torch::nn::GELU(), SeededDropout(dropout),
                               FilteredLinear(4 * width, width), SeededDropout(dropout));
  layers->apply([](torch::nn::Module& module) {
    if (auto* layer = module.as<torch::nn::Linear>()) {
      torch::nn::init::xavier_uniform_(layer->weight);
      torch::nn::init::normal_(layer->bias, 0, 1e-6);
    }
  });
  return layers;
}

class EncoderLayerImpl : public torch::nn::Module {
 public:
  explicit EncoderLayerImpl(const VisionTransformerSize& size)
      : heads_(size.heads),
        ln_1_(register_module("ln_1", vit_normalisation(size.width))),
        self_attention_(
            register_module("self_attention", torch::nn::MultiheadAttention(size.width, size.heads))),
        dropout_(register_module("dropout", SeededDropout(size.dropout))),
        ln_2_(register_module("ln_2", vit_normalisation(size.width))),
        mlp_(register_module("mlp", network(size.width, size.dropout))) {}

  torch::Tensor forward(const torch::Tensor& tokens) {
    const torch::Tensor x = tokens + dropout_(attention(ln_1_(tokens)));
    return x + mlp_->forward(ln_2_(x));
  }

 private:
  // The module holds the weights under their published names. Its own forward would also compute averaged
  // attention maps, which nobody uses.
  torch::Tensor attention(const torch::Tensor& x) {
    const torch::Tensor projected =
        torch::linear(x, self_attention_->in_proj_weight, self_attention_->in_proj_bias);
    return self_attention_->out_proj(attend(projected, heads_, AttentionMask::full));
  }

  std::int64_t heads_;
  torch::nn::LayerNorm ln_1_;
  torch::nn::MultiheadAttention self_attention_;
  SeededDropout dropout_;
  torch::nn::LayerNorm ln_2_;
  torch::nn::Sequential mlp_;
};
TORCH_MODULE(EncoderLayer);

torch::nn::Conv2d patch_projection(std::int64_t channels, const VisionTransformerSize& size) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(channels, size.width, size.patch).stride(size.patch));
  // torchvision truncates this distribution at -2 and 2. For patches of more than a pixel these are four or
  // more standard deviations from zero, so truncation is left out.
  const double inputs = static_cast<double>(channels * size.patch * size.patch);
  torch::nn::init::normal_(layer->weight, 0, std::sqrt(1 / inputs));
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

torch::nn::Sequential make_head(std::int64_t width, std::int64_t classes) {
  torch::nn::Linear head(width, classes);
  torch::nn::init::zeros_(head->weight);
  torch::nn::init::zeros_(head->bias);
  torch::nn::Sequential heads;
  heads->push_back("head", head);
  return heads;
}

}  // namespace

class VisionTransformer::Encoder : public torch::nn::Module {
 public:
  Encoder(const VisionTransformerSize& size, std::int64_t tokens)
      : pos_embedding_(register_parameter("pos_embedding", torch::empty({1, tokens, size.width}))),
        dropout_(register_module("dropout", SeededDropout(size.dropout))) {
    torch::nn::init::normal_(pos_embedding_, 0, 0.02);
    for (std::int64_t i = 0; i < size.depth; ++i) {
      layers_->push_back(fmt::format("encoder_layer_{}", i), EncoderLayer(size));
    }
    register_module("layers", layers_);
    ln_ = register_module("ln", vit_normalisation(size.width));
  }

  torch::Tensor forward(const torch::Tensor& tokens) {
    return ln_(layers_->forward(dropout_(tokens + pos_embedding_)));
  }

 private:
  torch::Tensor pos_embedding_;
  SeededDropout dropout_;
  torch::nn::Sequential layers_;
  torch::nn::LayerNorm ln_{nullptr};
};

VisionTransformer::VisionTransformer(const VisionTransformerSize& size, const DataShape& data)
    : class_token_(register_parameter("class_token", torch::zeros({1, 1, size.width}))),
      conv_proj_(register_module("conv_proj", patch_projection(data.channels, size))),
      encoder_(register_module(
          "encoder",
          std::make_shared<Encoder>(size, 1 + (data.height / size.patch) * (data.width / size.patch)))),
      heads_(register_module("heads", make_head(size.width, data.classes))) {}

torch::Tensor VisionTransformer::forward(const torch::Tensor& images) {
  const torch::Tensor patches = conv_proj_(images).flatten(2).transpose(1, 2);
  const torch::Tensor tokens = torch::cat({class_token_.expand({images.size(0), -1, -1}), patches}, 1);
  return heads_->forward(encoder_->forward(tokens).select(1, 0));
}

void expect_patches(const JsonObject& model, const DataShape& data, std::int64_t patch) {
  expect_images(model, data);
  if (data.height % patch == 0 && data.width % patch == 0) return;
  throw InputError(model.place(),
                   fmt::format("takes images whose sides are multiples of its patch size, {} pixels, but the "
                               "data set's are {} x {}; the models resnet and resnet18 take any size",
                               patch, data.height, data.width));
}

}  // namespace thinpipe::trainer
