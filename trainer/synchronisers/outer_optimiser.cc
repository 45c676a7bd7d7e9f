// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/outer_optimiser.hh"

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

std::unique_ptr<Synchroniser> make_inner(const Json& description, const std::string& outer,
                                         const Place& place, const SynchroniserContext& context) {
  auto inner = SynchroniserRegistry::instance().make(description, place, context);
  const auto refuse = [&](const std::string& why) {
    throw InputError(place / "name",
                     fmt::format("{} cannot be put inside {}: {}; use a method that averages, such "
                                 "as \"qsgd\", \"topk\" or \"pactrain\"",
                                 description.at("name").dump(), outer, why));
  };
  if (inner->local_steps()) refuse("it has local steps of its own");
  if (inner->senses_network()) refuse("it senses the network, which local steps leave idle");
  if (inner->properties().applies_momentum) refuse("it applies momentum, as " + outer + " itself does");
  if (inner->clipping() == Clipping::none) refuse("its result does not have the size of the weights' change");
  if (inner->shifts_evaluation()) {
    refuse(
        "it evaluates gradients at shifted weights, but local steps evaluate them at each worker's own (with "
        "\"detached\": 0, gmc shifts nothing)");
  }
  // Changes of weights are updates already.
  if (description.at("name") == "ef" && description.value("units", "gradient") == "update") {
    throw InputError(place / "units",
                     fmt::format("must be gradient inside {}: weight changes contain the learning rate "
                                 "already, so that update would have no effect",
                                 outer));
  }
  return inner;
}

}  // namespace

OuterOptimiser::OuterOptimiser(const OuterOptions& options, const Rounds& rounds, const std::string& outer,
                               const Place& place, const SynchroniserContext& context)
    : options_(options),
      rounds_(rounds),
      inner_(make_inner(options.inner, outer, place, context)),
      momentum_(context.parameters) {}

MethodProperties OuterOptimiser::properties() const {
  MethodProperties properties = inner_->properties();
  properties.estimate = Estimate::biased;
  properties.relative_rounding = 0;
  return properties;
}

void OuterOptimiser::adopt_masks(const std::vector<torch::Tensor>& kept) {
  inner_->adopt_masks(kept);
  momentum_.drop_pruned(kept);
}

void OuterOptimiser::synchronise(Bucket& bucket, Collective& network) {
  inner_->synchronise(bucket, network);
  step_by(bucket);
}

void OuterOptimiser::finish_dense(Bucket& bucket, int world_size) {
  inner_->finish_dense(bucket, world_size);
  step_by(bucket);
}

void OuterOptimiser::finish_step(bool applied) {
  inner_->finish_step(applied);
  applied ? momentum_.commit() : momentum_.discard();
}

void OuterOptimiser::save(TensorMap& state, const std::string& prefix) const {
  inner_->save(state, prefix + "inner.");
  momentum_.save(state, prefix + "momentum.");
}

void OuterOptimiser::load(const TensorMap& state, const std::string& prefix) {
  inner_->load(state, prefix + "inner.");
  momentum_.load(state, prefix + "momentum.");
}

// Replaces the mean change by the outer optimiser's step.
void OuterOptimiser::step_by(Bucket& bucket) {
  torch::Tensor momentum = bucket.gradient.clone();
  for (const Slice& slice : bucket.slices) {
    momentum.narrow(0, slice.offset, slice.size).add_(momentum_.of(slice.parameter), options_.momentum);
  }
  bucket.gradient.add_(momentum, options_.momentum).mul_(options_.learning_rate);
  momentum_.stage(bucket, momentum);
}

}  // namespace thinpipe::trainer
