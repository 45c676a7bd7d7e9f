// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/recurrent.hh"

#include <cmath>

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

// For input, forget gate, new content and output gate.
constexpr std::int64_t gates = 4;

std::string name_of(const char* kind, std::int64_t layer) {
  return fmt::format("{}_l{}", kind, layer);
}

}  // namespace

RecurrentImpl::RecurrentImpl(std::int64_t inputs, std::int64_t width, std::int64_t depth, double dropout)
    : width_(width), depth_(depth), dropout_(register_module("dropout", SeededDropout(dropout))) {
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  for (std::int64_t layer = 0; layer < depth; ++layer) {
    const auto add = [&](const char* kind, at::IntArrayRef shape) {
      const std::string name = name_of(kind, layer);
      own_[name] = register_parameter(name, torch::empty(shape).uniform_(-bound, bound));
    };
    add("weight_ih", {gates * width, layer == 0 ? inputs : width});
    add("weight_hh", {gates * width, width});
    add("bias_ih", {gates * width});
    add("bias_hh", {gates * width});
  }
}

torch::Tensor RecurrentImpl::forward(torch::Tensor x) {
  for (std::int64_t layer = 0; layer < depth_; ++layer) {
    if (layer > 0) x = dropout_(x);
    x = run_layer(layer, x);
  }
  return x;
}

torch::Tensor RecurrentImpl::run_layer(std::int64_t layer, const torch::Tensor& x) {
  const auto own = [&](const char* kind) { return own_.at(name_of(kind, layer)); };
  const torch::Tensor from_input = torch::linear(x, own("weight_ih"), own("bias_ih"));
  const torch::Tensor recurrent = own("weight_hh");
  const torch::Tensor bias = own("bias_hh");
  torch::Tensor output = x.new_zeros({x.size(0), width_});
  torch::Tensor content = output;
  std::vector<torch::Tensor> outputs;
  for (const torch::Tensor& input : from_input.unbind(1)) {
    const std::vector<torch::Tensor> parts = (input + torch::linear(output, recurrent, bias)).chunk(gates, 1);
    content = torch::sigmoid(parts[1]) * content + torch::sigmoid(parts[0]) * torch::tanh(parts[2]);
    output = torch::sigmoid(parts[3]) * torch::tanh(content);
    outputs.push_back(output);
  }
  return torch::stack(outputs, 1);
}

std::vector<std::string> RecurrentImpl::prunable_names() const {
  std::vector<std::string> names;
  for (std::int64_t layer = 0; layer < depth_; ++layer) {
    for (const char* kind : {"weight_ih", "weight_hh"}) names.push_back(name_of(kind, layer));
  }
  return names;
}

torch::Tensor& RecurrentImpl::prunable(const std::string& name) {
  return own_.at(name);
}

}  // namespace thinpipe::trainer
