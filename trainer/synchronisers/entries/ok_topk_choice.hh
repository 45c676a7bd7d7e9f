// SPDX-License-Identifier: Apache-2.0
// How Ok-Topk chooses a bucket's entries: by thresholds that are estimated exactly from time to time and
// follow the counts in between. k: the number of entries to choose.
#pragma once

#include "trainer/base/tensor_map.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/entries/sparse_entries.hh"

namespace thinpipe::trainer {

struct OkTopkChoice {
  std::int64_t age = 0;       // steps so far
  std::int64_t latest_k = 0;  // k of the latest step
  float own_threshold = 0;    // θ, for this worker's entries
  float sum_threshold = 0;    // Θ, for sums; the same on every worker
  // The boundaries of the owners' regions, from balanced_boundaries(); empty before the first step.
  std::vector<std::int64_t> boundaries = {};

  // Returns this worker's entries to contribute, ascending: at most largest_count(k). Updates θ for the next
  // step.
  std::vector<std::uint32_t> choose_own(std::span<const float> values, std::int64_t k, bool estimates);

  // Sets the boundaries to the mean of those that balance each worker's own entries, of n.
  void divide_anew(std::span<const std::uint32_t> own, std::int64_t n, Collective& network);

  // Returns the sums in the region of `rank` that this worker gathers: the k largest if it estimates, otherwise
  // those above Θ, at most largest_count(k).
  std::vector<SparseEntry> choose_of_region(std::span<const float> sums, std::int64_t k, bool estimates,
                                            int rank) const;

  // Returns the entries to apply, from those that all owners gathered, ascending. Updates Θ for the next
  // step.
  std::vector<SparseEntry> choose_of_all(std::vector<SparseEntry> gathered, std::int64_t k, bool estimates);

  static std::int64_t largest_count(std::int64_t k) { return 4 * k / 3; }
};

void save_ok_topk_choice(const OkTopkChoice& choice, TensorMap& state, const std::string& prefix);

// Loads a bucket's choice. Returns a new one, which estimates in the next step, if none was saved for a
// bucket of n entries. Throws Error if the saved state is damaged.
OkTopkChoice load_ok_topk_choice(const TensorMap& state, const std::string& prefix, std::int64_t n);

}  // namespace thinpipe::trainer
