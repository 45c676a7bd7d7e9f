// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/local_momentum.hh"

#include <array>
#include <cmath>
#include <numeric>

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/bucket_weights.hh"

namespace thinpipe::trainer {
namespace {

// Returns the bucket's part of the state, float32 [bucket.size].
torch::Tensor gather(const StagedState& state, const Bucket& bucket) {
  torch::Tensor out = torch::empty({bucket.size});
  for (const Slice& slice : bucket.slices)
    out.narrow(0, slice.offset, slice.size).copy_(state.of(slice.parameter));
  return out;
}

// Clips `gradient`. The norm is summed in order, so it does not depend on the number of threads.
void clip_to(double bound, torch::Tensor gradient) {
  const std::span<const float> values = floats(gradient);
  const double norm = std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float x) {
    return sum + static_cast<double>(x) * x;
  }));
  if (norm > bound) gradient.mul_(bound / norm);
}

}  // namespace

LocalMomentum::LocalMomentum(const Options& options, const SynchroniserContext& context)
    : options_(options),
      weights_(context.weights),
      weight_decay_(context.weight_decay),
      momentum_(context.parameters),
      residual_(context.parameters) {
  if (options.momentum > 0 && weight_decay_ > 0) decay_momentum_.emplace(context.parameters);
}

// Clips bucket.gradient and replaces it by the momentum step, and sets momentum_in_hand_ to the new momentum.
void LocalMomentum::apply(Bucket& bucket, int world_size) {
  const torch::Tensor& gradient = bucket.gradient;
  if (options_.clip > 0) clip_to(options_.clip / std::sqrt(world_size), gradient);
  momentum_in_hand_ = gather(momentum_, bucket);
  if (options_.nesterov) {
    momentum_in_hand_.add_(gradient).mul_(options_.momentum);
    gradient.add_(momentum_in_hand_);
  } else {
    momentum_in_hand_.mul_(options_.momentum).add_(gradient);
    gradient.copy_(momentum_in_hand_);
  }
}

void LocalMomentum::accumulate(Bucket& bucket, int world_size) {
  apply(bucket, world_size);
  residual_.add_to(bucket);
}

void LocalMomentum::mask(std::span<const std::uint32_t> indices) {
  if (!options_.masking) return;
  const std::span<float> momentum = floats(momentum_in_hand_);
  for (const std::uint32_t index : indices) momentum[index] = 0;
}

void LocalMomentum::mask(const std::vector<EntryRange>& blocks) {
  if (!options_.masking) return;
  for (const EntryRange& block : blocks) momentum_in_hand_.narrow(0, block.begin, block.size).zero_();
}

void LocalMomentum::store_residual(const Bucket& bucket) {
  momentum_.stage(bucket, momentum_in_hand_);
  residual_.stage(bucket, bucket.gradient);
}

void LocalMomentum::finish(Bucket& bucket) {
  if (!decay_momentum_) return;
  const torch::Tensor momentum = gather(*decay_momentum_, bucket);
  momentum.mul_(options_.momentum);
  if (!options_.nesterov) bucket.gradient.add_(momentum);
  momentum.add_(bucket_weights(weights_, bucket, "dgc"), weight_decay_);
  if (options_.nesterov) bucket.gradient.add_(momentum, options_.momentum);
  decay_momentum_->stage(bucket, momentum);
}

void LocalMomentum::finish_dense(Bucket& bucket, int world_size) {
  apply(bucket, world_size);
  momentum_.stage(bucket, momentum_in_hand_);
  finish(bucket);
}

void LocalMomentum::finish_step(bool applied) {
  for (StagedState* state : std::array<StagedState*, 2>{&momentum_, &residual_})
    applied ? state->commit() : state->discard();
  if (decay_momentum_) applied ? decay_momentum_->commit() : decay_momentum_->discard();
}

void LocalMomentum::adopt_masks(const std::vector<torch::Tensor>& kept) {
  momentum_.drop_pruned(kept);
  residual_.drop_pruned(kept);
  if (decay_momentum_) decay_momentum_->drop_pruned(kept);
}

void LocalMomentum::save(TensorMap& state, const std::string& prefix) const {
  momentum_.save(state, prefix + "momentum.");
  residual_.save(state, prefix);
  if (decay_momentum_) decay_momentum_->save(state, prefix + "decay_momentum.");
}

void LocalMomentum::load(const TensorMap& state, const std::string& prefix) {
  momentum_.load(state, prefix + "momentum.");
  residual_.load(state, prefix);
  if (decay_momentum_) decay_momentum_->load(state, prefix + "decay_momentum.");
}

}  // namespace thinpipe::trainer
