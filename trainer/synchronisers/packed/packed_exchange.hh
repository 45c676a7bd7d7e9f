// How the values of a packed bucket travel: the part of PacTrain that its variants do not share.
#pragma once

#include "trainer/synchronisers/packed/packed_entries.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {

// The entries of a bucket that travel, and where each of its layers ends among them.
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

  // Whether it costs less than a full exchange even where every entry travels.
  virtual bool packs_whole() const = 0;

  virtual void begin_step(std::uint64_t /*step*/) {}
  virtual void finish_step(bool /*applied*/) {}

  // Before either exchange: adds to the gradient what earlier steps held back.
  virtual void add_held_back(Bucket& /*bucket*/) const {}

  // Leaves the mean over workers in bucket.gradient and returns true; or, an entry having escaped on some
  // worker, leaves the gradient as it was and returns false, on every worker alike.
  virtual bool exchange(Bucket& bucket, const PackedLayout& layout, Collective& network) = 0;

  // After a full exchange, be it that exchange() returned false: nothing was held back.
  virtual void hold_nothing_back(const Bucket& /*bucket*/) {}

  virtual ExpectedTraffic traffic(const PackedLayout& layout, int world_size) const = 0;

  // As in Synchroniser.
  virtual std::optional<int> most_workers() const { return std::nullopt; }
  virtual void adopt_masks(const std::vector<torch::Tensor>& /*kept*/) {}
  virtual void save(TensorMap& /*state*/, const std::string& /*prefix*/) const {}
  virtual void load(const TensorMap& /*state*/, const std::string& /*prefix*/) {}
};

// float32 values, exact on the pattern: payload 4(nnz + 1).
std::unique_ptr<PackedExchange> make_float_exchange();

// Ternary values: payload (nnz + 1) + 4L, L layers in the bucket. clip: in standard deviations of a layer; 0:
// never.
std::unique_ptr<PackedExchange> make_ternary_exchange(double clip, std::uint64_t seed);

// The same with error feedback, which nothing is clipped for.
std::unique_ptr<PackedExchange> make_ternary_feedback_exchange(const std::vector<ParameterInfo>& parameters);

}  // namespace thinpipe::trainer
