// What tests of error feedback share: what a method holds back, and whether all that went in is there or has
// come out.
#pragma once

#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer::testing {

// Of the world's bucket.
inline torch::Tensor held_back_by(Session& session, const World& world) {
  Bucket bucket = world.bucket;
  bucket.gradient = torch::zeros({bucket.size});
  session.method().add_held_back(bucket);
  return bucket.gradient;
}

struct BalancedStep {
  torch::Tensor out;
  // What went in or was held back before, over all workers, and is neither held back now nor in N·out: of the
  // entry that lost most. Of integers nothing but rounding is lost, or one at least.
  double lost = 0;
};

inline BalancedStep balanced_step(Session& session, const World& world, Collective& network,
                                  const torch::Tensor& gradient, std::uint64_t step) {
  torch::Tensor in = gradient + held_back_by(session, world);
  torch::Tensor out = session.step(gradient, step);
  torch::Tensor left = held_back_by(session, world);
  network.all_reduce(in, Reduction::sum);
  network.all_reduce(left, Reduction::sum);
  const double lost = (in - left - network.world_size() * out).abs().max().item<double>();
  return {std::move(out), lost};
}

}  // namespace thinpipe::trainer::testing
