// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer {

StagedState::StagedState(const std::vector<ParameterInfo>& parameters)
    : parameters_(parameters), is_staged_(parameters.size()) {
  for (const ParameterInfo& parameter : parameters) {
    current_.push_back(torch::zeros({parameter.size}));
    staged_.push_back(torch::empty({parameter.size}));
  }
}

void StagedState::stage(const Bucket& bucket, const torch::Tensor& values) {
  for (const Slice& slice : bucket.slices) {
    staged_[slice.parameter].copy_(values.narrow(0, slice.offset, slice.size));
    is_staged_[slice.parameter] = true;
  }
}

void StagedState::commit() {
  for (std::size_t p = 0; p < current_.size(); ++p) {
    if (is_staged_[p]) std::swap(current_[p], staged_[p]);
  }
  discard();
}

void StagedState::discard() {
  is_staged_.assign(is_staged_.size(), false);
}

void StagedState::drop_pruned(const std::vector<torch::Tensor>& kept) {
  for (std::size_t p = 0; p < current_.size(); ++p) {
    if (kept[p].defined()) current_[p].masked_fill_(kept[p].logical_not(), 0);
  }
}

void StagedState::save(TensorMap& state, const std::string& prefix) const {
  for (std::size_t p = 0; p < current_.size(); ++p) {
    state[prefix + "residual." + parameters_[p].name] = current_[p].clone();
  }
}

void StagedState::load(const TensorMap& state, const std::string& prefix) {
  for (std::size_t p = 0; p < current_.size(); ++p) {
    current_[p].copy_(
        expect_tensor(state, prefix + "residual." + parameters_[p].name, current_[p], "checkpoint"));
  }
}

}  // namespace thinpipe::trainer
