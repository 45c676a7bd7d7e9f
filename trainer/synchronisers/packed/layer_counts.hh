// SPDX-License-Identifier: Apache-2.0
// The entries of each layer that a method exchanged, over the steps of a training run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/support/json_object.hh"
#include "trainer/base/bucket.hh"
#include "trainer/base/tensor_map.hh"

namespace thinpipe::trainer {

// Counts by intervals of equally many steps. There are at most `max_intervals`: before there would be more,
// every two neighbours are joined. A step stages its counts and commits them at its end.
class LayerCounts {
 public:
  static constexpr std::int64_t max_intervals = 32;

  explicit LayerCounts(std::vector<ParameterInfo> parameters);

  // Stages the counts of the bucket's parameters. `indices`: the exchanged entries of the bucket, ascending.
  void stage(const Bucket& bucket, const std::vector<std::uint32_t>& indices);

  // Counts the staged entries as one step.
  void commit();
  // Drops the staged entries.
  void discard();

  // Returns the number of steps, the steps of an interval (the last may be shorter), and for each layer its
  // name, its size, and its exchanged entries by interval, summed over the interval's steps:
  //   {"steps": 5, "steps_per_interval": 2,
  //    "layers": [{"name": "fc1.weight", "weights": 6, "exchanged": [4, 3, 1]}]}
  // Biases and normalisation layers have no entry: sparsifiers leave them dense.
  Json state() const;

  void save(TensorMap& state, const std::string& prefix) const;
  void load(const TensorMap& state, const std::string& prefix);

 private:
  std::int64_t intervals() const { return (steps_ + steps_per_interval_ - 1) / steps_per_interval_; }
  void join_neighbours();

  std::vector<ParameterInfo> parameters_;
  std::int64_t steps_ = 0;
  std::int64_t steps_per_interval_ = 1;
  // By parameter and interval.
  std::vector<std::vector<std::int64_t>> counts_;
  // By parameter.
  std::vector<std::int64_t> staged_;
};

}  // namespace thinpipe::trainer
