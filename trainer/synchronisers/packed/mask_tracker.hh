// Whether a bucket travels packed, and which of its entries then do: PacTrain's mask tracker (2025). Every
// worker's tracker is in the same state, because it is led by reduced data alone: the reduced gradient and
// the reduced flag of an escape.
//
// DECLARED: the pattern is the pruning mask, agreed on when the model was pruned; the bucket is packed from
// its first step. An entry outside the pattern that is non-zero after all has escaped: every worker learns it
// from the reduced flag in the same exchange, repeats the step in full, and packs again from the next step
// on, because the declared mask still holds.
//
// OBSERVED: the pattern is found out, with k = stable_iterations:
//
//   FULL     the step travels in full; obs = (mean != 0)
//            growing:  count = (obs ⊆ ref) ? count + 1 : 0, ref = ref ∪ obs
//            exact:    count = (obs = ref) ? count + 1 : 0, ref = obs
//            when count reaches k: UNAGREED, unless ref holds every entry and packing would save nothing
//   UNAGREED the workers compare hashes of ref before the first packed exchange: then PACKED
//   PACKED   only ref's entries travel; after an escape: ref = {}, count = 0, FULL, in the same step
//
// A local gradient cannot lead it: a channel may be dead on one worker and alive on another.
#pragma once

#include "trainer/synchronisers/packed/packed_entries.hh"

namespace thinpipe::trainer {

// What makes an observed pattern stable.
struct Stability {
  bool exact = false;  // the same entries each step, not just no new ones
  std::int64_t iterations = 5;
};

class MaskTracker {
 public:
  enum class Phase : std::int64_t { full, unagreed, packed };

  // All there is to know of it.
  struct State {
    Phase phase = Phase::full;
    std::int64_t count = 0;   // steps in a row that confirmed the reference
    torch::Tensor reference;  // bool [n]
  };

  // packs_whole: whether packing is worth while even where every entry travels.
  static MaskTracker declared(const torch::Tensor& kept, bool packs_whole);
  static MaskTracker observed(std::int64_t size, const Stability& stability, bool packs_whole);

  // Of the step to come.
  bool is_packed() const { return state_.phase != Phase::full; }
  bool must_agree() const { return state_.phase == Phase::unagreed; }
  const PackedEntries& entries() const { return entries_; }  // while packed
  std::uint64_t hash() const;                                // of the pattern

  // What became of the step: all of it or nothing takes effect at its end.
  void stage_packed();
  // mean: float32 [n], the reduced gradient. In a packed phase, an entry has escaped.
  void stage_full(const torch::Tensor& mean);
  void commit();
  void discard() { staged_.reset(); }

  const State& state() const { return state_; }
  void restore(State state);

 private:
  MaskTracker(State state, std::optional<Stability> stability, bool packs_whole);
  bool is_worth_packing(const torch::Tensor& pattern) const;
  void settle();

  std::optional<Stability> stability_;  // none: declared
  bool packs_whole_;
  State state_;
  std::optional<State> staged_;
  PackedEntries entries_;
};

}  // namespace thinpipe::trainer
