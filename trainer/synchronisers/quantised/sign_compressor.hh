// Compressors that send of each entry its sign, and of each group of entries the numbers that its signs stand
// for: x̂_i = one of the two levels of i's group; out = (1/N)·Σ_w x̂_w.
//
//   float32 numbers of each group, then a bit for each entry that pruning kept; of the others nothing travels
#pragma once

#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/packed/kept_entries.hh"
#include "trainer/synchronisers/quantised/sign_code.hh"

namespace thinpipe::trainer {

// The entries that share their levels: a parameter's, or those of one of its rows as a matrix.
enum class SignGroup { tensor, row };

// How many numbers give a group's levels: one where the negative level is always minus the positive one.
enum class LevelNumbers : std::size_t { one = 1, two = 2 };

class SignCompressor : public Compressor {
 public:
  SignCompressor(const SynchroniserContext& context, SignGroup group, LevelNumbers numbers)
      : parameters_(context.parameters),
        kept_(context.kept),
        group_(group),
        per_group_(static_cast<std::size_t>(numbers)) {}

  Promises promises() const override { return {.estimate = Estimate::biased}; }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { kept_.adopt(kept); }

  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) final;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const final;

 protected:
  // Of a group's values; there may be none. Where one of them is not finite, neither is the level of its
  // sign, a NaN's being the negative one.
  virtual SignLevels levels_of(std::span<const float> values) const = 0;

 private:
  std::int64_t groups_of(const Slice& slice) const;
  std::vector<std::int64_t> group_sizes(const Bucket& bucket) const;
  torch::Tensor encode(std::span<const float> values, std::span<const std::int64_t> sizes) const;
  void add(const torch::Tensor& message, std::span<const std::int64_t> sizes, std::span<float> values) const;

  std::vector<ParameterInfo> parameters_;
  KeptEntries kept_;
  SignGroup group_;
  std::size_t per_group_;  // numbers
};

}  // namespace thinpipe::trainer
