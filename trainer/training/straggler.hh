// SPDX-License-Identifier: Apache-2.0
// A worker that an experiment slows down by a factor. After each stretch of compute it sleeps for the
// additional time, so that gradients arrive as late as from a slower machine, while the other workers
// keep their CPU time.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/worker_file.hh"
#include "trainer/base/stopwatch.hh"

namespace thinpipe::trainer {

class Straggler {
 public:
  // slowdowns: ordered by iteration; empty: no straggler.
  explicit Straggler(std::vector<Slowdown> slowdowns) : slowdowns_(std::move(slowdowns)) {}

  // Marks the beginning of compute, after that many iterations.
  void begin_step(std::int64_t iterations);

  // Sleeps for the additional time of the stretch of compute since begin_step() or the last catch_up().
  void catch_up();

  // Returns the factor in force in this step.
  double factor() const { return factor_; }

 private:
  std::vector<Slowdown> slowdowns_;
  double factor_ = 1;
  Stopwatch stretch_;
};

}  // namespace thinpipe::trainer
