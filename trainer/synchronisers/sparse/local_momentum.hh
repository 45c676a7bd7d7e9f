// SPDX-License-Identifier: Apache-2.0
// The momentum of DGC and its residual (methods/dgc.cc), which do not depend on the choice of entries.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/random_block.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class LocalMomentum {
 public:
  struct Options {
    double momentum = 0;
    bool nesterov = false;
    bool masking = true;
    double clip = 0;  // 0: never
  };

  LocalMomentum(const Options& options, const SynchroniserContext& context);

  // Replaces bucket.gradient, this worker's gradient, by v: clipped, with momentum and the residual.
  void accumulate(Bucket& bucket, int world_size);

  // Clears the momentum of the entries that accumulate() returned and that are sent, if masking. indices: into the
  // bucket.
  void mask(std::span<const std::uint32_t> indices);
  void mask(const std::vector<EntryRange>& blocks);

  // Stages the momentum, and bucket.gradient, the part of v that is not sent, as the residual.
  void store_residual(const Bucket& bucket);

  // Adds the momentum of earlier steps' decay to the mean over workers; the optimiser adds this step's decay.
  void finish(Bucket& bucket);

  // Applies clipping and momentum to the mean over workers of a bucket that is exchanged dense.
  void finish_dense(Bucket& bucket, int world_size);

  void finish_step(bool applied);
  void add_residual(Bucket& bucket) const { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept);
  void save(TensorMap& state, const std::string& prefix) const;
  void load(const TensorMap& state, const std::string& prefix);

 private:
  void apply(Bucket& bucket, int world_size);

  Options options_;
  std::vector<torch::Tensor> weights_;
  double weight_decay_;                        // λ
  StagedState momentum_;                       // u
  Residual residual_;                          // v
  std::optional<StagedState> decay_momentum_;  // m
  torch::Tensor momentum_in_hand_;             // of the current bucket
};

}  // namespace thinpipe::trainer
