// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/error_feedback.hh"

namespace thinpipe::trainer {

MethodProperties ErrorFeedback::properties() const {
  MethodProperties properties = inner_->properties();
  properties.estimate = Estimate::error_feedback;
  properties.relative_rounding = 0;
  return properties;
}

void ErrorFeedback::adopt_masks(const std::vector<torch::Tensor>& kept) {
  inner_->adopt_masks(kept);
  residual_.drop_pruned(kept);
}

// A learning rate of 0, as at the start of a linear warm-up, moves nothing and defines no unit.
void ErrorFeedback::set_learning_rate(double learning_rate) {
  inner_->set_learning_rate(learning_rate);
  keeps_residual_ = units_ == ResidualUnits::update && learning_rate <= 0;
  if (learning_rate > 0) learning_rate_ = learning_rate;
}

void ErrorFeedback::add_residual(Bucket& bucket) const {
  if (keeps_residual_) return;
  const double unit = units_ == ResidualUnits::update ? learning_rate_of_residual_ / learning_rate_ : 1.0;
  for (const Slice& slice : bucket.slices) bucket.view(slice).add_(residual_.of(slice.parameter), unit);
}

void ErrorFeedback::synchronise(Bucket& bucket, Collective& network) {
  if (keeps_residual_) return inner_->exchange(bucket, network, nullptr);
  add_residual(bucket);
  const torch::Tensor corrected = bucket.gradient.clone();
  torch::Tensor own;
  inner_->exchange(bucket, network, &own);
  residual_.stage(bucket, corrected.sub_(own));
}

void ErrorFeedback::finish_step(bool applied) {
  inner_->finish_step(applied);
  if (applied && !keeps_residual_) {
    residual_.commit();
    learning_rate_of_residual_ = learning_rate_;
  } else {
    residual_.discard();
  }
}

void ErrorFeedback::save(TensorMap& state, const std::string& prefix) const {
  inner_->save(state, prefix + "inner.");
  residual_.save(state, prefix);
  state[prefix + "learning_rate"] = torch::tensor({learning_rate_of_residual_}, torch::kDouble);
}

void ErrorFeedback::load(const TensorMap& state, const std::string& prefix) {
  inner_->load(state, prefix + "inner.");
  residual_.load(state, prefix);
  learning_rate_of_residual_ =
      expect_tensor(state, prefix + "learning_rate", torch::empty({1}, torch::kDouble), "checkpoint")
          .item<double>();
}

}  // namespace thinpipe::trainer
