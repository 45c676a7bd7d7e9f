// SPDX-License-Identifier: Apache-2.0
// A method that keeps some entries of a bucket and all-gathers them with their indices. Every worker adds
// them in ascending order of rank:
//   out = (1/N) Σ_w scatter(I_w, acc_w[I_w])
// The method decides which entries of which vector to send, and how to keep the rest. A SparseCode, which
// `deepreduce` replaces, encodes the messages. If the collective has a reduction tree, entries can be summed
// on the way instead: an edge carries each index once, whichever workers have it, and the tree determines the
// order of additions.
#pragma once

#include <string>

#include "trainer/synchronisers/sparse/sparse_code.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class Sparsifier : public Synchroniser {
 public:
  // indices: one of index_options().
  explicit Sparsifier(const std::string& indices);

  // Returns the names of index codes (index_code.hh), and "sparse_all_reduce": two bytes per index, with entries summed
  // on the way if possible.
  static std::vector<std::string> index_options();

  // Uses `code` for every message, which disables summing on the way.
  void use_code(std::unique_ptr<SparseCode> code);

  MethodProperties properties() const override;

  // Biases and normalisation layers are small but important: the reference codes leave them dense.
  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override { step_ = step; }

  void synchronise(Bucket& bucket, Collective& network) final;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const final;
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override;

 protected:
  // Replaces bucket.gradient by acc, from which entries are chosen, the residual included.
  virtual void accumulate(Bucket& bucket) = 0;

  // Returns indices into the bucket, ascending.
  virtual std::vector<std::uint32_t> choose(const Bucket& bucket) = 0;

  // Stores bucket.gradient, the part of acc that is not sent, as the residual. sent, ascending: the indices
  // that the message has, which with a lossy code may differ from those of choose().
  virtual void store_residual(const Bucket& bucket, std::span<const std::uint32_t> sent) = 0;

  // Finishes the result. On entry bucket.gradient is the mean over workers of the entries they sent; on
  // return it is the optimiser's input, the same on every worker.
  virtual void finish(Bucket& /*bucket*/) {}

  // Returns the number of entries that choose() returns; an upper bound unless chooses_a_fixed_count().
  virtual std::int64_t count_for(const Bucket& bucket) const = 0;
  virtual bool chooses_a_fixed_count() const { return true; }
  // The count after a warm-up.
  virtual std::int64_t steady_state_count_for(const Bucket& bucket) const { return count_for(bucket); }

  std::uint64_t step() const { return step_; }

  // The rank and size of the network that the current bucket is exchanged over.
  int rank() const { return rank_; }
  int world_size() const { return world_size_; }

 private:
  void sparse_all_reduce(Bucket& bucket, std::span<const std::uint32_t> indices, Collective& network);
  void gather(Bucket& bucket, std::span<const std::uint32_t> indices, Collective& network);
  std::vector<std::uint32_t> subtract_decoded(const torch::Tensor& message, const SparseHeader& header,
                                              std::uint32_t own, std::span<float> values) const;
  bool has_fixed_size() const { return chooses_a_fixed_count() && code_->has_fixed_size(); }
  std::int64_t sparse_all_reduce_bytes(const Bucket& bucket) const;
  ExpectedTraffic gathered_traffic(std::int64_t message_bytes, int world_size) const;

  std::unique_ptr<SparseCode> code_;
  bool uses_sparse_all_reduce_;
  std::uint64_t step_ = 0;
  int rank_ = 0;
  int world_size_ = 1;
};

}  // namespace thinpipe::trainer
