#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct DilocoOptions {
  std::int64_t local_steps = 20;
  double learning_rate = 0.7;
  double momentum = 0.9;
  Json inner = {{"name", "dense"}};

  void visit(auto& field) {
    field("local_steps", local_steps,
          Rule{.effect = "steps of each worker's own optimiser between two exchanges", .at_least = 1});
    field("learning_rate", learning_rate, Rule{.effect = "step size of the outer optimiser", .above = 0});
    field("momentum", momentum,
          Rule{.effect = "momentum coefficient of the outer optimiser", .at_least = 0, .below = 1});
    field("inner", inner, Rule{.effect = "how weight changes are averaged: a method with its options"});
  }
};

// Local steps with an outer optimiser. The mean change of the weights since the last exchange is the gradient
// for Nesterov momentum. With c = W - W0 of each worker, and C the inner method's mean over workers:
//   u' = μ·u + C(c);  W = W0 + η·(C(c) + μ·u')
// This is the paper's update with Δ = -c. The paper has local_steps 500, for runs of many thousands of steps;
// a short training run exchanges only a few times. An inner method with error feedback adds the part of a change
// that it did not send to the next change. Douillard et al., DiLoCo: Distributed Low-Communication Training of
// Language Models (2023).
//
// State: u, float32 [n], the same on every worker, and the inner method's. Payload: the inner method's, once
// per local_steps steps.
class Diloco : public Synchroniser {
 public:
  Diloco(const DilocoOptions& options, std::unique_ptr<Synchroniser> inner,
         const SynchroniserContext& context)
      : options_(options), inner_(std::move(inner)), momentum_(context.parameters) {}

  MethodProperties properties() const override {
    MethodProperties properties = inner_->properties();
    properties.estimate = Estimate::biased;
    properties.relative_rounding = 0;
    return properties;
  }

  std::optional<std::int64_t> local_steps() const override { return options_.local_steps; }
  std::optional<int> max_workers() const override { return inner_->max_workers(); }
  bool leaves_dense(const ParameterInfo& parameter) const override { return inner_->leaves_dense(parameter); }
  bool needs_one_bucket() const override { return inner_->needs_one_bucket(); }
  void prepare(const std::vector<Bucket>& layout) override { inner_->prepare(layout); }
  void begin_step(std::uint64_t step) override { inner_->begin_step(step); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    inner_->adopt_masks(kept);
    momentum_.drop_pruned(kept);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    inner_->synchronise(bucket, network);
    step_by(bucket);
  }

  void finish_dense(Bucket& bucket, int world_size) override {
    inner_->finish_dense(bucket, world_size);
    step_by(bucket);
  }

  void finish_step(bool applied) override {
    inner_->finish_step(applied);
    applied ? momentum_.commit() : momentum_.discard();
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return inner_->traffic(bucket, world_size);
  }
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return inner_->steady_state_traffic(bucket, world_size);
  }

  Json state() const override { return inner_->state(); }

  void save(TensorMap& state, const std::string& prefix) const override {
    inner_->save(state, prefix + "inner.");
    momentum_.save(state, prefix + "momentum.");
  }
  void load(const TensorMap& state, const std::string& prefix) override {
    inner_->load(state, prefix + "inner.");
    momentum_.load(state, prefix + "momentum.");
  }

 private:
  // Replaces the mean change by the outer optimiser's step.
  void step_by(Bucket& bucket) {
    torch::Tensor momentum = bucket.gradient.clone();
    for (const Slice& slice : bucket.slices) {
      momentum.narrow(0, slice.offset, slice.size).add_(momentum_.of(slice.parameter), options_.momentum);
    }
    bucket.gradient.add_(momentum, options_.momentum).mul_(options_.learning_rate);
    momentum_.stage(bucket, momentum);
  }

  DilocoOptions options_;
  std::unique_ptr<Synchroniser> inner_;
  StagedState momentum_;  // u
};

std::unique_ptr<Synchroniser> make_inner(const Json& description, const Place& place,
                                         const SynchroniserContext& context) {
  auto inner = SynchroniserRegistry::instance().make(description, place, context);
  const auto refuse = [&](const char* why) {
    throw InputError(place / "name",
                     fmt::format("{} cannot be put inside diloco: {}; use a method that averages, such "
                                 "as \"qsgd\", \"topk\" or \"pactrain\"",
                                 description.at("name").dump(), why));
  };
  if (inner->local_steps()) refuse("it has local steps of its own");
  if (inner->properties().applies_momentum) refuse("it applies momentum, as diloco itself does");
  if (inner->clipping() == Clipping::none) refuse("its result does not have the size of the weights' change");
  return inner;
}

THINPIPE_REGISTER(Synchroniser){
    "diloco", "DiLoCo: many local steps, then an outer optimiser on the mean weight change",
    describe_options<DilocoOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<DilocoOptions>(object);
      return std::make_unique<Diloco>(options, make_inner(options.inner, object.place_of("inner"), context),
                                      context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
