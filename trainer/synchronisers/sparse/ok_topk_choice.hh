// How Ok-Topk chooses a bucket's entries: by thresholds that are estimated exactly now and then, and that
// follow the counts in between. k: how many it is to choose.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/sparse/sparse_entries.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

struct OkTopkChoice {
  std::int64_t age = 0;     // steps taken
  float own_threshold = 0;  // θ, of this worker's entries
  float sum_threshold = 0;  // Θ, of sums; the same on every worker
  // Of the owners' regions, as balanced_boundaries() makes them; empty before the first step.
  std::vector<std::int64_t> boundaries = {};

  // This worker's entries to contribute, ascending: at most largest_count(k). θ becomes the next step's.
  std::vector<std::uint32_t> choose_own(std::span<const float> values, std::int64_t k, bool estimates);

  // The boundaries become the mean of what is best for each worker's own entries, of n.
  void divide_anew(std::span<const std::uint32_t> own, std::int64_t n, Collective& network);

  // Of the sums in the region of `rank`, what that worker gathers: at most largest_count(k).
  std::vector<SparseEntry> choose_of_region(std::span<const float> sums, std::int64_t k, bool estimates,
                                            int rank) const;

  // Of what all owners gathered, ascending, what is applied. Θ becomes the next step's.
  std::vector<SparseEntry> choose_of_all(std::vector<SparseEntry> gathered, std::int64_t k, bool estimates);

  // 4k/3
  static std::int64_t largest_count(std::int64_t k) { return 4 * k / 3; }
};

void save_ok_topk_choice(const OkTopkChoice& choice, TensorMap& state, const std::string& prefix);

// A new one where none of a bucket of n entries was saved: then the next step estimates anew. Throws Error
// where what was saved is damaged.
OkTopkChoice load_ok_topk_choice(const TensorMap& state, const std::string& prefix, std::int64_t n);

}  // namespace thinpipe::trainer
