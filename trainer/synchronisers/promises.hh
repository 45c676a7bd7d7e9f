// What a method promises of its result, beyond what all must (synchroniser.hh). The conformance suite
// (tests/conformance.hh) holds each method to it.
#pragma once

namespace thinpipe::trainer {

// How the result relates to m, the mean over workers of their gradients.
enum class Estimate {
  exact,     // m, but for the order of float32's additions
  rounded,   // m, but for roundings of a narrower format at every hop
  unbiased,  // its expectation is m
  biased,    // near m; how near is for the method's own tests to say
  delayed,   // what of m is missing is held back by some worker and comes in later steps: error feedback
};

struct Promises {
  Estimate estimate = Estimate::exact;
  double relative_rounding = 0;  // of `rounded`: of one operation, half the distance of neighbours over 1
  bool sums_of_messages_are_messages = false;  // so that an all-reduce in any order and shape carries it
  bool traffic_depends_on_data = false;        // then traffic() is what a step sends at most
  bool applies_momentum = false;               // so that the optimiser must have none
};

}  // namespace thinpipe::trainer
