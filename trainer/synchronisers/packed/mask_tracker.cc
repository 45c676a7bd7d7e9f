// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/mask_tracker.hh"

#include "trainer/collectives/replica_check.hh"

namespace thinpipe::trainer {

MaskTracker::MaskTracker(State state, std::optional<Stability> stability, bool packs_whole)
    : stability_(stability), packs_whole_(packs_whole) {
  restore(std::move(state));
}

MaskTracker MaskTracker::declared(const torch::Tensor& kept, bool packs_whole) {
  return {{.phase = Phase::packed, .reference = kept}, std::nullopt, packs_whole};
}

MaskTracker MaskTracker::observed(std::int64_t size, const Stability& stability, bool packs_whole) {
  return {{.reference = torch::zeros({size}, torch::kBool)}, stability, packs_whole};
}

bool MaskTracker::is_worth_packing(const torch::Tensor& pattern) const {
  return packs_whole_ || !pattern.all().item<bool>();
}

std::uint64_t MaskTracker::hash() const {
  return tensor_hash(state_.reference);
}

void MaskTracker::stage_packed() {
  staged_ = state_;
  staged_->phase = Phase::packed;
}

void MaskTracker::stage_full(const torch::Tensor& mean) {
  staged_ = state_;
  if (!stability_) return;
  if (is_packed()) *staged_ = {.reference = torch::zeros_like(state_.reference)};
  const torch::Tensor observed = mean.ne(0);
  const bool confirmed = stability_->exact
                             ? observed.equal(staged_->reference)
                             : !observed.logical_and(staged_->reference.logical_not()).any().item<bool>();
  staged_->count = confirmed ? staged_->count + 1 : 0;
  staged_->reference = stability_->exact ? observed : observed.logical_or(staged_->reference);
  const bool stable = staged_->count >= stability_->iterations;
  if (stable && is_worth_packing(staged_->reference)) staged_->phase = Phase::unagreed;
}

void MaskTracker::commit() {
  if (!staged_) return;
  const bool was_packed = is_packed();
  const torch::Tensor packed = state_.reference;
  state_ = std::move(*staged_);
  staged_.reset();
  if (is_packed() != was_packed || (is_packed() && !state_.reference.is_same(packed))) settle();
}

void MaskTracker::restore(State state) {
  state_ = std::move(state);
  staged_.reset();
  if (is_packed() && !is_worth_packing(state_.reference)) state_.phase = Phase::full;
  settle();
}

void MaskTracker::settle() {
  entries_ = is_packed() ? PackedEntries(state_.reference) : PackedEntries();
}

}  // namespace thinpipe::trainer
