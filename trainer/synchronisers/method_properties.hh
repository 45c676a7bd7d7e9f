// SPDX-License-Identifier: Apache-2.0
// The properties of a method's result beyond those that every method must have (synchroniser.hh). The
// conformance suite (tests/conformance.hh) checks them.
#pragma once

namespace thinpipe::trainer {

// How the result relates to m, the mean over workers of their gradients.
enum class Estimate {
  // m, up to the order of float32 additions.
  exact,
  // m, up to rounding to a narrower format at every hop.
  rounded,
  // The expectation is m.
  unbiased,
  // An approximation of m, whose error the method's own tests bound.
  biased,
  // Error feedback: the part of m that is missing is in some worker's residual and is sent in later steps.
  error_feedback,
};

struct MethodProperties {
  Estimate estimate = Estimate::exact;
  // For `rounded`: the relative rounding error of one operation, half the spacing of numbers just above 1.
  double relative_rounding = 0;
  // Messages can be summed, so an all-reduce in any order and topology can carry them.
  bool all_reduce_compatible = false;
  // traffic() is an upper bound.
  bool traffic_depends_on_data = false;
  // The optimiser must not have momentum as well.
  bool applies_momentum = false;
};

}  // namespace thinpipe::trainer
