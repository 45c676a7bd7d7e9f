// A method that keeps some entries of a bucket, all-gathers them with their places, and adds them up, ranks
// ascending, so that every worker adds in the same order:
//   out = (1/N) Σ_w scatter(I_w, acc_w[I_w])
// Which entries, out of what, and what becomes of the rest is for each to say; how they travel is a
// SparseCode, which `deepreduce` replaces. Or, where collectives go along a tree of the workers, they are
// added up on the way: an edge carries an entry once, whoever has it, and the order of additions is the
// tree's.
#pragma once

#include <string>

#include "trainer/synchronisers/sparse/sparse_code.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class Sparsifier : public Synchroniser {
 public:
  // indices: one of places_names().
  explicit Sparsifier(const std::string& indices);

  // Of index codes (index_code.hh), or "merged": in two bytes each, and added up on the way where they can
  // be.
  static std::vector<std::string> places_names();

  // For every message; nothing is added up on the way any more.
  void use_code(std::unique_ptr<SparseCode> code);

  Promises promises() const override;

  // Biases and normalisation layers are next to nothing and matter: the reference codes leave them dense.
  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override { step_ = step; }

  void synchronise(Bucket& bucket, Collective& network) final;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const final;
  ExpectedTraffic settled_traffic(const Bucket& bucket, int world_size) const override;

 protected:
  // bucket.gradient becomes acc, which entries are chosen from: with what was held back of earlier steps.
  virtual void accumulate(Bucket& bucket) = 0;

  // Indices into the bucket, ascending.
  virtual std::vector<std::uint32_t> choose(const Bucket& bucket) = 0;

  // bucket.gradient is what of acc is not sent; sent, ascending: the entries of which something is, which a
  // lossy code need not have from choose().
  virtual void hold_back(const Bucket& bucket, std::span<const std::uint32_t> sent) = 0;

  // bucket.gradient is the mean over workers of what they sent; on return, what the optimiser is to use, the
  // same on every worker.
  virtual void finish(Bucket& /*bucket*/) {}

  // How many entries choose() gives: exact where chooses_a_fixed_count(), else at most.
  virtual std::int64_t count_for(const Bucket& bucket) const = 0;
  virtual bool chooses_a_fixed_count() const { return true; }
  // The same after a warm-up.
  virtual std::int64_t settled_count_for(const Bucket& bucket) const { return count_for(bucket); }

  std::uint64_t step() const { return step_; }

  // Of the network that the bucket in hand goes over.
  int rank() const { return rank_; }
  int world_size() const { return world_size_; }

 private:
  void merge(Bucket& bucket, std::span<const std::uint32_t> indices, Collective& network);
  void gather(Bucket& bucket, std::span<const std::uint32_t> indices, Collective& network);
  std::vector<std::uint32_t> subtract_decoded(const torch::Tensor& message, const SparseHeader& header,
                                              std::uint32_t own, std::span<float> values) const;
  bool has_fixed_size() const { return chooses_a_fixed_count() && code_->has_fixed_size(); }
  std::int64_t merged_bytes(const Bucket& bucket) const;
  ExpectedTraffic gathered_traffic(std::int64_t message_bytes, int world_size) const;

  std::unique_ptr<SparseCode> code_;
  bool merges_;
  std::uint64_t step_ = 0;
  int rank_ = 0;
  int world_size_ = 1;
};

}  // namespace thinpipe::trainer
