// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/mask.hh"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <xxhash.h>

#include "common/support/exception.hh"
#include "trainer/models/foreign_module.hh"
#include "trainer/models/layers/prunable_module.hh"
#include "trainer/pruning/pruned_filters.hh"

namespace thinpipe::trainer {

std::map<std::string, torch::Tensor*> prunable_members_of(torch::nn::Module& module) {
  std::map<std::string, torch::Tensor*> members;
  if (auto* layer = module.as<torch::nn::Linear>()) members["weight"] = &layer->weight;
  if (auto* layer = module.as<torch::nn::Conv1d>()) members["weight"] = &layer->weight;
  if (auto* layer = module.as<torch::nn::Conv2d>()) members["weight"] = &layer->weight;
  if (auto* layer = module.as<torch::nn::Conv3d>()) members["weight"] = &layer->weight;
  if (auto* layer = module.as<torch::nn::MultiheadAttention>())
    members["in_proj_weight"] = &layer->in_proj_weight;
  auto* const foreign = module.as<ForeignModule>();
  if (foreign != nullptr && foreign->prunable() != nullptr) members[foreign->prunable()] = &foreign->weight;
  if (auto* own = dynamic_cast<PrunableModule*>(&module)) {
    for (const std::string& name : own->prunable_names()) members[name] = &own->prunable(name);
  }
  // An attention has no joint projection if its inputs differ in width.
  std::erase_if(members, [](const auto& member) { return !member.second->defined(); });
  return members;
}

std::vector<std::pair<std::string, torch::Tensor>> prunable_weights(const torch::nn::Module& model) {
  std::set<std::string> names;
  model.apply([&names](const std::string& name, const torch::nn::Module& module) {
    const std::string prefix = name.empty() ? "" : name + ".";
    // Only reads the module.
    for (const auto& [own_name, weight] : prunable_members_of(const_cast<torch::nn::Module&>(module)))
      names.insert(prefix + own_name);
  });
  std::vector<std::pair<std::string, torch::Tensor>> weights;
  for (const auto& parameter : model.named_parameters()) {
    if (names.contains(parameter.key())) weights.emplace_back(parameter.key(), parameter.value());
  }
  return weights;
}

Mask::Mask(std::vector<Layer> layers) : layers_(std::move(layers)) {}

Mask Mask::keep_all(const torch::nn::Module& model) {
  std::vector<Layer> layers;
  for (const auto& [name, weight] : prunable_weights(model)) {
    layers.push_back({name, torch::ones(weight.sizes(), torch::kBool)});
  }
  return Mask(std::move(layers));
}

Mask Mask::unpack(const torch::nn::Module& model, const torch::Tensor& packed) {
  Mask mask = keep_all(model);
  const std::int64_t bits = mask.weights();
  const std::int64_t bytes = (bits + 7) / 8;
  if (packed.scalar_type() != torch::kUInt8 || packed.numel() != bytes) {
    throw Error(
        fmt::format("unpack mask: {} elements of type {}, but the model's {} prunable weights need {} bytes",
                    packed.numel(), c10::toString(packed.scalar_type()), bits, bytes));
  }
  const torch::Tensor on_cpu = packed.cpu().contiguous();
  const auto* data = on_cpu.data_ptr<std::uint8_t>();
  if (bits % 8 != 0 && data[bytes - 1] >> (bits % 8) != 0) {
    throw Error("unpack mask: bits are set beyond the model's last prunable weight");
  }
  std::int64_t bit = 0;
  for (const Layer& layer : mask.layers_) {
    auto* keep = layer.keep.data_ptr<bool>();
    for (std::int64_t i = 0; i < layer.weights(); ++i, ++bit) keep[i] = (data[bit / 8] >> (bit % 8) & 1) != 0;
  }
  return mask;
}

std::int64_t Mask::weights() const {
  return std::transform_reduce(layers_.begin(), layers_.end(), std::int64_t{0}, std::plus<>{},
                               [](const Layer& layer) { return layer.weights(); });
}

std::int64_t Mask::kept() const {
  return std::transform_reduce(layers_.begin(), layers_.end(), std::int64_t{0}, std::plus<>{},
                               [](const Layer& layer) { return layer.kept(); });
}

double Mask::density() const {
  return weights() == 0 ? 1 : static_cast<double>(kept()) / static_cast<double>(weights());
}

std::optional<torch::Tensor> Mask::flat_mask_for(std::string_view parameter) const {
  const auto layer = std::find_if(layers_.begin(), layers_.end(), [parameter](const Layer& candidate) {
    return candidate.name == parameter;
  });
  if (layer == layers_.end()) return std::nullopt;
  return layer->keep.flatten();
}

void Mask::apply(torch::nn::Module& model) const {
  const torch::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  for (const Layer& layer : layers_) {
    const torch::Tensor* weight = parameters.find(layer.name);
    if (weight == nullptr || weight->sizes() != layer.keep.sizes()) {
      throw Error(fmt::format("apply mask: the model has no parameter {} with {} weights", layer.name,
                              layer.weights()));
    }
    weight->masked_fill_(layer.keep.logical_not().to(weight->device()), 0);
  }
  skip_pruned_filters(*this, model);
}

torch::Tensor Mask::packed() const {
  torch::Tensor out = torch::zeros({(weights() + 7) / 8}, torch::kUInt8);
  auto* bytes = out.data_ptr<std::uint8_t>();
  std::int64_t bit = 0;
  for (const Layer& layer : layers_) {
    const torch::Tensor contiguous = layer.keep.contiguous();
    const auto* keep = contiguous.data_ptr<bool>();
    for (std::int64_t i = 0; i < layer.weights(); ++i, ++bit) {
      if (keep[i]) bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | 1U << (bit % 8));
    }
  }
  return out;
}

std::uint64_t Mask::hash() const {
  const torch::Tensor bytes = packed();
  return XXH3_64bits(bytes.data_ptr<std::uint8_t>(), static_cast<std::size_t>(bytes.numel()));
}

}  // namespace thinpipe::trainer
