// SPDX-License-Identifier: Apache-2.0
// The mask of a model: which weights are kept, and which are pruned, that is zero for good.
#pragma once

#include <map>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Returns the weights that pruning may remove, in the order of named_parameters: those of convolutions, linear layers
// and recurrent layers, including the joint input projection of a MultiheadAttention. Biases, normalisation layers and
// embeddings are never pruned.
std::vector<std::pair<std::string, torch::Tensor>> prunable_weights(const torch::nn::Module& model);

// Returns those of the module itself, without its submodules': the members that its forward uses, by name.
std::map<std::string, torch::Tensor*> prunable_members_of(torch::nn::Module& module);

class Mask {
 public:
  struct Layer {
    std::string name;    // of the parameter
    torch::Tensor keep;  // bool, the parameter's shape, on the CPU

    std::int64_t weights() const { return keep.numel(); }
    std::int64_t kept() const { return keep.sum().item<std::int64_t>(); }
    double density() const { return static_cast<double>(kept()) / static_cast<double>(weights()); }
  };

  explicit Mask(std::vector<Layer> layers);

  // Keeps every prunable weight.
  static Mask keep_all(const torch::nn::Module& model);

  // Returns the inverse of packed(). Throws Error if the bits are not a mask of this model.
  static Mask unpack(const torch::nn::Module& model, const torch::Tensor& packed);

  const std::vector<Layer>& layers() const { return layers_; }

  std::int64_t weights() const;
  std::int64_t kept() const;
  double density() const;  // kept / weights; 1 for a model without prunable weights

  // Returns bool [numel] for a parameter; nullopt if it is not prunable.
  std::optional<torch::Tensor> flat_mask_for(std::string_view parameter) const;

  // Zeroes the pruned weights by selection, because a product would turn infinities into NaN and keep
  // negative zeros. Lets the model skip filters that are pruned as a whole. Throws Error if the model's parameters do not match the mask.
  void apply(torch::nn::Module& model) const;

  // Returns uint8 [ceil(weights / 8)]: one bit per prunable weight in the order of prunable_weights, least
  // significant first; unused bits of the last byte are 0. Broadcasts and checkpoints use this form.
  torch::Tensor packed() const;

  // Returns xxh3-64 of the packed bytes: equal on workers whose masks are equal.
  std::uint64_t hash() const;

 private:
  std::vector<Layer> layers_;
};

}  // namespace thinpipe::trainer
