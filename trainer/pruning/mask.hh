// Which weights of a model are kept, and which are pruned: zero for good.
#pragma once

#include "trainer/modules.hh"

namespace thinpipe::trainer {

// The weights that pruning may remove, in the order of named_parameters: those of convolutions and linear
// layers, among them the joint input projection of a MultiheadAttention. Biases, normalisation layers and
// embeddings are never pruned.
std::vector<std::pair<std::string, torch::Tensor>> prunable_weights(const torch::nn::Module& model);

// The weight that a module's own forward uses, if pruning may remove parts of it; null for modules of other
// kinds.
torch::Tensor* prunable_weight_of(torch::nn::Module& module);

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

  // The inverse of packed(). Throws Error when the bits are not those of a mask over this model.
  static Mask unpack(const torch::nn::Module& model, const torch::Tensor& packed);

  const std::vector<Layer>& layers() const { return layers_; }

  std::int64_t weights() const;
  std::int64_t kept() const;
  double density() const;  // kept / weights; 1 for a model without prunable weights

  // bool [numel] of a parameter; none when it is not prunable.
  std::optional<torch::Tensor> flat_mask_for(std::string_view parameter) const;

  // Zeroes the pruned weights by selection: a product would keep infinities as NaN, and negative zeros.
  // Throws Error when the model's parameters are not those of the mask.
  void apply(torch::nn::Module& model) const;

  // uint8 [ceil(weights / 8)]: one bit per prunable weight in the order of prunable_weights, least
  // significant first; the last byte's spare bits are 0. This is what is broadcast and what a checkpoint
  // holds.
  torch::Tensor packed() const;

  // xxh3-64 of the packed bytes: equal on workers that agree.
  std::uint64_t hash() const;

 private:
  std::vector<Layer> layers_;
};

}  // namespace thinpipe::trainer
