// Error feedback around a compressor: what a message leaves out goes into the next one.
#pragma once

#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer {

// What e is measured in when the learning rate η changes. In gradients e is multiplied by whatever η the step
// that sends it has; in updates by the η of the step that held it back, so that all in all Σ η·out + η·e =
// Σ η·g whatever η does.
enum class ResidualUnits { gradient, update };

// Around a compressor C, of a worker's gradient g:
//   p = g + e;  out = (1/N)·Σ_w C(p_w);  e' = p - C(p)
// With scaled_sign EF-signSGD. e stays bounded where C is a contraction, ‖C(p) - p‖² <= (1 - δ)·‖p‖², as
// scaled_sign is, or qsgd with levels enough for its blocks. terngrad is none: its draws err by up to its
// scale, which grows with what they leave, and so on. The paper measures e in updates, p = η·g + e and w -=
// mean Δ; published code does so with the η it was made with, and does not divide by N. One way: the mean is
// not compressed a second time, as dist-EF-SGD does it. Karimireddy et al., Error Feedback Fixes SignSGD
// (ICML 2019).
//
// State: e, float32 [n], and what the compressor keeps. Payload: the compressor's.
class ErrorFeedback : public Synchroniser {
 public:
  ErrorFeedback(std::unique_ptr<Compressor> inner, ResidualUnits units, const SynchroniserContext& context)
      : inner_(std::move(inner)), units_(units), residual_(context.parameters) {}

  Promises promises() const override;
  std::optional<int> most_workers() const override { return inner_->most_workers(); }
  bool leaves_dense(const ParameterInfo& parameter) const override { return inner_->leaves_dense(parameter); }
  bool needs_one_bucket() const override { return inner_->needs_one_bucket(); }
  void prepare(const std::vector<Bucket>& layout) override { inner_->prepare(layout); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override;
  void set_learning_rate(double learning_rate) override;
  void begin_step(std::uint64_t step) override { inner_->begin_step(step); }
  void add_held_back(Bucket& bucket) const override;
  void synchronise(Bucket& bucket, Collective& network) override;
  void finish_step(bool applied) override;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return inner_->traffic(bucket, world_size);
  }
  ExpectedTraffic settled_traffic(const Bucket& bucket, int world_size) const override {
    return inner_->settled_traffic(bucket, world_size);
  }
  Json state() const override { return inner_->state(); }
  void save(TensorMap& state, const std::string& prefix) const override;
  void load(const TensorMap& state, const std::string& prefix) override;

 private:
  std::unique_ptr<Compressor> inner_;
  ResidualUnits units_;
  Residual residual_;  // in gradients of the learning rate below
  double learning_rate_of_residual_ = 1;
  double learning_rate_ = 1;  // of the step to come or at hand
};

}  // namespace thinpipe::trainer
