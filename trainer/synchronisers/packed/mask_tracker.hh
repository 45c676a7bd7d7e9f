// SPDX-License-Identifier: Apache-2.0
// Decides whether a bucket is sent packed, and with which entries: PacTrain's mask tracker (2025). Every
// worker's tracker is in the same state, because only reduced data drive it: the reduced gradient and the
// reduced flag of an escape.
//
// DECLARED: the pattern is the pruning mask, agreed on when the model was pruned, and the bucket is packed
// from its first step. A non-zero entry outside the pattern has escaped. Every worker learns of it from the
// reduced flag in the same exchange and repeats the step in full. It packs again from the next step on,
// because the declared mask still holds.
//
// OBSERVED: the pattern is detected, with k = stable_iterations:
//
//   FULL     the step is sent in full; obs = (mean != 0)
//            growing:  count = (obs ⊆ ref) ? count + 1 : 0, ref = ref ∪ obs
//            exact:    count = (obs = ref) ? count + 1 : 0, ref = obs
//            when count reaches k: UNAGREED, unless ref holds every entry and packing would save nothing
//   UNAGREED the workers compare hashes of ref before the first packed exchange: then PACKED
//   PACKED   only ref's entries are sent; after an escape: ref = {}, count = 0, FULL, in the same step
//
// A local gradient cannot drive the tracker: a channel may be dead on one worker and alive on another.
#pragma once

#include "trainer/synchronisers/packed/packed_entries.hh"

namespace thinpipe::trainer {

// The rule for when an observed pattern is stable.
struct Stability {
  bool exact = false;  // the same entries in each step, not only no new ones
  std::int64_t iterations = 5;
};

class MaskTracker {
 public:
  enum class Phase : std::int64_t { full, unagreed, packed };

  // The tracker's complete state.
  struct State {
    Phase phase = Phase::full;
    std::int64_t count = 0;   // consecutive steps that confirmed the reference
    torch::Tensor reference;  // bool [n]
  };

  // packs_whole: whether packing saves traffic even if every entry is sent.
  static MaskTracker declared(const torch::Tensor& kept, bool packs_whole);
  static MaskTracker observed(std::int64_t size, const Stability& stability, bool packs_whole);

  // Returns whether the next step is packed.
  bool is_packed() const { return state_.phase != Phase::full; }
  bool must_agree() const { return state_.phase == Phase::unagreed; }
  // The entries of the pattern; valid while packed.
  const PackedEntries& entries() const { return entries_; }
  // A hash of the pattern.
  std::uint64_t hash() const;

  // Stage the outcome of a step, which takes effect at its end or not at all.
  void stage_packed();
  // mean: float32 [n], the reduced gradient. In a packed phase, this reports an escape.
  void stage_full(const torch::Tensor& mean);
  void commit();
  void discard() { staged_.reset(); }

  const State& state() const { return state_; }
  void restore(State state);

 private:
  MaskTracker(State state, std::optional<Stability> stability, bool packs_whole);
  bool is_worth_packing(const torch::Tensor& pattern) const;
  void settle();

  std::optional<Stability> stability_;  // nullopt: declared
  bool packs_whole_;
  State state_;
  std::optional<State> staged_;
  PackedEntries entries_;
};

}  // namespace thinpipe::trainer
