// SPDX-License-Identifier: Apache-2.0
// How the values of a packed bucket are sent: the part in which PacTrain's variants differ.
#pragma once

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/packed/packed_entries.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// The entries of a bucket that are sent, and where each of its layers ends among them.
struct PackedLayout {
  const PackedEntries& entries;
  std::vector<std::size_t> layer_ends = {};
};

class PackedExchange {
 public:
  PackedExchange() = default;
  virtual ~PackedExchange() = default;
  PackedExchange(const PackedExchange&) = delete;
  PackedExchange& operator=(const PackedExchange&) = delete;
  PackedExchange(PackedExchange&&) = delete;
  PackedExchange& operator=(PackedExchange&&) = delete;

  virtual Estimate estimate() const = 0;

  // Returns whether it costs less than a full exchange even if every entry is sent.
  virtual bool packs_whole() const = 0;

  virtual void begin_step(std::uint64_t /*step*/) {}
  virtual void finish_step(bool /*applied*/) {}

  // Adds the residual to the gradient. Called before either exchange.
  virtual void add_residual(Bucket& /*bucket*/) const {}

  // Sets bucket.gradient to the mean over workers and returns true. If an entry has escaped on some worker,
  // leaves the gradient unchanged and returns false; all workers return the same.
  virtual bool exchange(Bucket& bucket, const PackedLayout& layout, Collective& network) = 0;

  // Clears the residual after a full exchange, also after exchange() returned false.
  virtual void clear_residual(const Bucket& /*bucket*/) {}

  virtual ExpectedTraffic traffic(const PackedLayout& layout, int world_size) const = 0;

  // Like the functions of Synchroniser.
  virtual std::optional<int> max_workers() const { return std::nullopt; }
  virtual void adopt_masks(const std::vector<torch::Tensor>& /*kept*/) {}
  virtual void save(TensorMap& /*state*/, const std::string& /*prefix*/) const {}
  virtual void load(const TensorMap& /*state*/, const std::string& /*prefix*/) {}
};

// float32 values, exact on the pattern. Payload 4(nnz + 1).
std::unique_ptr<PackedExchange> make_float_exchange();

// Ternary values. Payload (nnz + 1) + 4L, for L layers in the bucket. clip: in standard deviations of a
// layer; 0: never.
std::unique_ptr<PackedExchange> make_ternary_exchange(double clip, std::uint64_t seed);

// Ternary values with error feedback and without clipping.
std::unique_ptr<PackedExchange> make_ternary_feedback_exchange(const std::vector<ParameterInfo>& parameters);

}  // namespace thinpipe::trainer
