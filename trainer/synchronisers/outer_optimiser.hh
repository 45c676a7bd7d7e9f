// SPDX-License-Identifier: Apache-2.0
// Local steps with an outer optimiser. The mean change of the weights since the last exchange is the gradient
// for Nesterov momentum. With c = W - W0 of each worker, and C the inner method's mean over workers:
//   u' = μ·u + C(c);  W = W0 + η·(C(c) + μ·u')
// This is the papers' update with Δ = -c. An inner method with error feedback adds the part of a change that it did not
// send to the next change. Douillard et al., DiLoCo: Distributed Low-Communication Training of Language Models (2023).
#pragma once

#include <memory>

#include "common/support/options.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

struct OuterOptions {
  double learning_rate = 0.7;
  double momentum = 0.9;
  Json inner = {{"name", "dense"}};

  void visit(auto& field) {
    field("learning_rate", learning_rate, Rule{.effect = "step size of the outer optimiser", .above = 0});
    field("momentum", momentum,
          Rule{.effect = "momentum coefficient of the outer optimiser", .at_least = 0, .below = 1});
    field("inner", inner, Rule{.effect = "how weight changes are averaged: a method with its options"});
  }
};

// State: u, float32 [n], the same on every worker, and the inner method's. Payload: the inner method's, once
// per round.
class OuterOptimiser : public Synchroniser {
 public:
  struct Rounds {
    std::int64_t local_steps = 1;
    FragmentSchedule fragments = {};
  };

  // Reads options.inner at `place`; throws InputError, which names the method `outer`, unless it averages.
  OuterOptimiser(const OuterOptions& options, const Rounds& rounds, const std::string& outer,
                 const Place& place, const SynchroniserContext& context);

  MethodProperties properties() const override;
  std::optional<std::int64_t> local_steps() const override { return rounds_.local_steps; }
  FragmentSchedule fragments() const override { return rounds_.fragments; }
  std::optional<int> max_workers() const override { return inner_->max_workers(); }
  std::int64_t workers_multiple_of() const override { return inner_->workers_multiple_of(); }
  bool leaves_dense(const ParameterInfo& parameter) const override { return inner_->leaves_dense(parameter); }
  bool needs_one_bucket() const override { return inner_->needs_one_bucket(); }
  void prepare(const std::vector<Bucket>& layout) override { inner_->prepare(layout); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override;
  void begin_step(std::uint64_t step) override { inner_->begin_step(step); }
  void synchronise(Bucket& bucket, Collective& network) override;
  void finish_dense(Bucket& bucket, int world_size) override;
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
  void step_by(Bucket& bucket);

  OuterOptions options_;
  Rounds rounds_;
  std::unique_ptr<Synchroniser> inner_;
  StagedState momentum_;  // u
};

}  // namespace thinpipe::trainer
