// SPDX-License-Identifier: Apache-2.0
// Collects rank 0's reports of a run into the numbers of the record. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/protocol/event.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// Returns the p-quantile (0..1), with linear interpolation between order statistics. `values` must not be
// empty.
double quantile(std::vector<double> values, double p);

class Measurements {
 public:
  // Iterations without times count, but add no times.
  void add(const event::Iteration& iteration);
  void add(const event::ReplayedIteration& iteration);
  // Ends a replay: its iterations, in the order of the classes, count as often as their class occurs in training.
  void add(const event::Replayed& replayed);
  void add(const event::Evaluation& evaluation);

  // Sets the train time of a run that reports no iterations.
  void set_train_time(double train_time_s) { train_time_s_ = train_time_s; }

  // Training resumes after this iteration, from a checkpoint. Removes later points of the curve, because
  // their model is lost. Times and bytes still count all work.
  void go_back_to(std::int64_t iteration);

  std::int64_t iterations() const { return iterations_; }  // the number of the last one
  double train_time_s() const { return train_time_s_; }
  // Handed to collectives by rank 0; nullopt if no iteration has it, as are the next two.
  std::optional<std::int64_t> payload_bytes() const { return payload_bytes_; }
  // By the formulas of the collectives' algorithms, which may give fractions of a byte.
  std::optional<double> sent_bytes() const { return sent_bytes_; }
  std::optional<std::int64_t> delivered_bytes() const {
    return delivered_bytes_;
  }  // to rank 0, by collectives
  const std::vector<record::CurvePoint>& curve() const { return curve_; }

  // Returns the durations of iterations; a part is nullopt if it is unknown in one of them. Excludes a replay's
  // iterations that stand for the first of a training run. nullopt before the first iteration with times.
  std::optional<record::IterationTime> iteration_time_s() const;

 private:
  void add_times(const event::IterationTimes& times);

  struct TimedIteration {
    event::IterationTimes times;
    double weight = 1;
  };

  std::int64_t iterations_ = 0;
  std::vector<TimedIteration> timed_;
  double train_time_s_ = 0;
  std::optional<std::int64_t> payload_bytes_;
  std::optional<double> sent_bytes_;
  std::optional<std::int64_t> delivered_bytes_;
  std::vector<record::CurvePoint> curve_;
};

}  // namespace thinpipe
