// A worker that computes more slowly than it could, by a factor that an experiment asks for: it sleeps after
// each stretch of computing for as long as the factor adds to it, so that gradients come as late as from a
// slower machine while the others keep their processor time.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/support/json_object.hh"
#include "trainer/stopwatch.hh"

namespace thinpipe::trainer {

struct Slowdown {
  std::int64_t at_iteration = 0;  // begins when so many have ended
  double factor = 1;              // computing takes so many times as long
};

// Reads member "slowdowns" of a worker's file: [{"at_iteration", "factor"}]. Throws InputError naming place
// and rule.
std::vector<Slowdown> read_slowdowns(const Json& value, const Place& place);

class Straggler {
 public:
  // In the order of their iterations; empty: no straggler.
  explicit Straggler(std::vector<Slowdown> slowdowns) : slowdowns_(std::move(slowdowns)) {}

  // Computing begins, after so many iterations.
  void begin_step(std::int64_t iterations);

  // Sleeps for what the stretch of computing lacks that began with begin_step() or the last catch_up().
  void catch_up();

  // In force in this step.
  double factor() const { return factor_; }

 private:
  std::vector<Slowdown> slowdowns_;
  double factor_ = 1;
  Stopwatch stretch_;
};

}  // namespace thinpipe::trainer
