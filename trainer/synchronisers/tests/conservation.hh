// SPDX-License-Identifier: Apache-2.0
// Shared by tests of error feedback: the residual, and whether everything that went in is in the residual or
// in the result.
#pragma once

#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer::testing {

// Returns the residual in the layout of the world's bucket.
inline torch::Tensor residual_of(Session& session, const World& world) {
  Bucket bucket = world.bucket;
  bucket.gradient = torch::zeros({bucket.size});
  session.method().add_residual(bucket);
  return bucket.gradient;
}

struct BalancedStep {
  torch::Tensor out;
  // The largest loss of an entry: over all workers, the sum of gradients and residuals before the step, less
  // N·out and the residuals after it. With integer gradients it is either rounding or at least one.
  double lost = 0;
};

inline BalancedStep balanced_step(Session& session, const World& world, Collective& network,
                                  const torch::Tensor& gradient, std::uint64_t step) {
  torch::Tensor in = gradient + residual_of(session, world);
  torch::Tensor out = session.step(gradient, step);
  torch::Tensor left = residual_of(session, world);
  network.all_reduce(in, Reduction::sum);
  network.all_reduce(left, Reduction::sum);
  const double lost = (in - left - network.world_size() * out).abs().max().item<double>();
  return {std::move(out), lost};
}

}  // namespace thinpipe::trainer::testing
