// SPDX-License-Identifier: Apache-2.0
// Error feedback around a compressor: each message's error is added to the next gradient.
#pragma once

#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer {

// The units that e is stored in, which matter when the learning rate η changes. With `gradient`, e is
// multiplied by the η of the step that sends it. With `update`, it is multiplied by the η of the step that
// stored it: Σ η·out + η·e = Σ η·g over all steps, whatever η does. A step with η = 0, whose out moves nothing, leaves e
// alone.
enum class ResidualUnits { gradient, update };

// Error feedback around a compressor C. For a worker's gradient g:
//   p = g + e;  out = (1/N)·Σ_w C(p_w);  e' = p - C(p)
// With scaled_sign this is EF-signSGD. e stays bounded if C is a contraction, ‖C(p) - p‖² <= (1 - δ)·‖p‖².
// scaled_sign is a contraction, and so is qsgd with enough levels for its block size. terngrad is not: its
// draws err by up to its scale, and the scale grows with the residual.
//
// The paper keeps e in updates: p = η·g + e and w -= mean Δ. Published code also keeps e in updates, with the
// η of the step that stored it, but does not divide by N. Compression is one-way: unlike in dist-EF-SGD, the
// mean is not compressed again. Karimireddy et al., Error Feedback Fixes SignSGD (ICML 2019).
//
// State: e, float32 [n], and the compressor's state. Payload: the compressor's.
class ErrorFeedback : public Synchroniser {
 public:
  ErrorFeedback(std::unique_ptr<Compressor> inner, ResidualUnits units, const SynchroniserContext& context)
      : inner_(std::move(inner)), units_(units), residual_(context.parameters) {}

  MethodProperties properties() const override;
  std::optional<int> max_workers() const override { return inner_->max_workers(); }
  bool leaves_dense(const ParameterInfo& parameter) const override { return inner_->leaves_dense(parameter); }
  bool needs_one_bucket() const override { return inner_->needs_one_bucket(); }
  void prepare(const std::vector<Bucket>& layout) override { inner_->prepare(layout); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override;
  void set_learning_rate(double learning_rate) override;
  bool uses_learning_rate() const override { return units_ == ResidualUnits::update; }
  void begin_step(std::uint64_t step) override { inner_->begin_step(step); }
  void add_residual(Bucket& bucket) const override;
  void synchronise(Bucket& bucket, Collective& network) override;
  void finish_step(bool applied) override;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return inner_->traffic(bucket, world_size);
  }
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return inner_->steady_state_traffic(bucket, world_size);
  }
  Json state() const override { return inner_->state(); }
  void save(TensorMap& state, const std::string& prefix) const override;
  void load(const TensorMap& state, const std::string& prefix) override;

 private:
  std::unique_ptr<Compressor> inner_;
  ResidualUnits units_;
  // In gradient units at learning_rate_of_residual_.
  Residual residual_;
  double learning_rate_of_residual_ = 1;
  double learning_rate_ = 1;     // of the current or next step, or the last one that was not 0
  bool keeps_residual_ = false;  // this step does
};

}  // namespace thinpipe::trainer
