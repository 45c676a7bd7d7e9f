// SPDX-License-Identifier: Apache-2.0
// Compressors that send the sign of each entry and, for each group of entries, the numbers that its signs
// decode to: x̂_i = one of the two levels of i's group; out = (1/N)·Σ_w x̂_w.
//
//   float32 numbers of each group, then a bit for each entry that pruning kept; pruned entries are not sent
#pragma once

#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/quantised/sign_code.hh"

namespace thinpipe::trainer {

// The entries that share levels: a parameter's, or those of one of its rows as a matrix.
enum class SignGroup { tensor, row };

// How many numbers define a group's levels: one if the negative level is always minus the positive one.
enum class LevelNumbers : std::size_t { one = 1, two = 2 };

class SignCompressor : public Compressor {
 public:
  SignCompressor(const SynchroniserContext& context, SignGroup group, LevelNumbers numbers)
      : parameters_(context.parameters),
        kept_(context.kept),
        group_(group),
        per_group_(static_cast<std::size_t>(numbers)) {}

  MethodProperties properties() const override { return {.estimate = Estimate::biased}; }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { kept_.adopt(kept); }

  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) final;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const final;

 protected:
  // Returns the levels of a group's values, which may be empty. If a value is not finite, the level of its
  // sign is not finite either; a NaN has the negative level.
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
