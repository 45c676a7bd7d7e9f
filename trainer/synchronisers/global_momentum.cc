// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/global_momentum.hh"

#include <array>

#include "trainer/synchronisers/bucket_weights.hh"

namespace thinpipe::trainer {

GlobalMomentum::GlobalMomentum(const Options& options, const SynchroniserContext& context)
    : options_(options),
      weights_(context.weights),
      kept_(context.kept),
      residual_(context.parameters),
      last_weights_(context.parameters) {
  if (!shifts_evaluation()) return;
  for (const torch::Tensor& weights : weights_) unshifted_.push_back(torch::empty({weights.numel()}));
}

void GlobalMomentum::begin_step() {
  for (std::size_t p = 0; p < unshifted_.size(); ++p) unshifted_[p].copy_(weights_[p].detach().view(-1));
}

torch::Tensor GlobalMomentum::evaluation_shift(std::size_t parameter) const {
  if (!shifts_evaluation()) return {};
  return residual_.of(parameter).mul(-options_.detached * learning_rate_);
}

void GlobalMomentum::subtract_movement(Bucket& bucket) {
  // Also because other steps of streaming_diloco, which overlap the exchange, may be changing the weights.
  if (options_.momentum == 0) return;
  const torch::Tensor weights = bucket_weights(shifts_evaluation() ? unshifted_ : weights_, bucket, "gmc");
  if (last_learning_rate_ > 0) {
    const torch::Tensor movement = torch::empty({bucket.size});
    for (const Slice& slice : bucket.slices) {
      torch::Tensor moved = movement.narrow(0, slice.offset, slice.size);
      torch::sub_out(moved, weights.narrow(0, slice.offset, slice.size), last_weights_.of(slice.parameter));
    }
    kept_.clear_pruned(bucket, movement);
    bucket.gradient.sub_(movement, options_.momentum / last_learning_rate_);
  }
  last_weights_.stage(bucket, weights);
}

void GlobalMomentum::accumulate(Bucket& bucket) {
  subtract_movement(bucket);
  residual_.add_to(bucket);
}

void GlobalMomentum::finish_step(bool applied) {
  for (StagedState* state : std::array<StagedState*, 2>{&residual_, &last_weights_})
    applied ? state->commit() : state->discard();
  if (applied) last_learning_rate_ = learning_rate_;
}

void GlobalMomentum::adopt_masks(const std::vector<torch::Tensor>& kept) {
  residual_.drop_pruned(kept);
  kept_.adopt(kept);
}

void GlobalMomentum::save(TensorMap& state, const std::string& prefix) const {
  residual_.save(state, prefix);
  last_weights_.save(state, prefix + "last_weights.");
  state[prefix + "last_learning_rate"] = torch::tensor({last_learning_rate_}, torch::kDouble);
}

void GlobalMomentum::load(const TensorMap& state, const std::string& prefix) {
  residual_.load(state, prefix);
  last_weights_.load(state, prefix + "last_weights.");
  last_learning_rate_ =
      expect_tensor(state, prefix + "last_learning_rate", torch::empty({1}, torch::kDouble), "checkpoint")
          .item<double>();
}

}  // namespace thinpipe::trainer
