// SPDX-License-Identifier: Apache-2.0
// Shared by the conformance suite and tests of methods: a bucket, gradients with exact sums, and a method whose
// steps move the weights.
#pragma once

#include <cmath>
#include <functional>

#include "trainer/base/philox.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::testing {

// One bucket of two parameters, the first of them pruned; sizes add up to n.
struct World {
  std::vector<ParameterInfo> parameters;
  std::vector<torch::Tensor> kept;
  std::vector<torch::Tensor> weights;  // before the first step
  Bucket bucket;
  double weight_decay = 0;
};

// Returns the rows of a matrix as square as whole rows allow.
inline std::int64_t rows_for(std::int64_t size) {
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(size)));
  while (rows > 1 && size % rows != 0) --rows;
  return std::max<std::int64_t>(1, rows);
}

inline World make_world(std::int64_t n, bool pruned) {
  World world;
  const std::int64_t first = (n + 1) / 2;
  for (const auto& [name, size] : {std::pair("a", first), std::pair("b", n - first)}) {
    const std::int64_t rows = rows_for(size);
    world.parameters.push_back(
        {.name = name, .size = size, .dimensions = 2, .rows = rows, .shape = {rows, size / rows}});
    world.weights.push_back(torch::linspace(-1, 1, size));
  }
  torch::Tensor mask = torch::arange(first).remainder(2).eq(0);
  world.kept = {pruned ? mask : torch::Tensor(), torch::Tensor()};
  if (pruned) world.weights[0].masked_fill_(mask.logical_not(), 0);
  world.bucket.size = n;
  world.bucket.slices = {{.parameter = 0, .offset = 0, .size = first},
                         {.parameter = 1, .offset = first, .size = n - first}};
  return world;
}

// Returns the same world with weight decay in the optimiser.
inline World decaying(World world) {
  world.weight_decay = 0.01;
  return world;
}

// Returns small integers, different on each rank and zero at pruned entries: sums are exact in any order.
inline torch::Tensor integer_gradient(const World& world, int rank, int step) {
  std::vector<float> uniform(static_cast<std::size_t>(world.bucket.size));
  fill_uniform(
      {.seed = 11, .step = static_cast<std::uint32_t>(step), .rank = static_cast<std::uint32_t>(rank)},
      uniform);
  torch::Tensor gradient = torch::tensor(uniform).mul(17).floor().sub(8);
  if (world.kept[0].defined()) {
    gradient.narrow(0, 0, world.kept[0].numel()).masked_fill_(world.kept[0].logical_not(), 0);
  }
  return gradient;
}

// Returns numbers whose sums depend on the order of addition; zero at pruned entries.
inline torch::Tensor real_gradient(const World& world, int rank, int step) {
  return integer_gradient(world, rank, step).mul(0.7310585786).sin();
}

inline torch::Tensor exact_mean(const World& world, int world_size, int step) {
  torch::Tensor sum = torch::zeros({world.bucket.size}, torch::kDouble);
  for (int rank = 0; rank < world_size; ++rank) sum += integer_gradient(world, rank, step).to(torch::kDouble);
  return sum / world_size;
}

// A method and an optimiser without momentum: every applied step moves the session's own weights.
class Session {
 public:
  Session(const auto& make, const World& world, Collective& network)
      : world_(with_own_weights(world)),
        method_(make(SynchroniserContext{.parameters = world_.parameters,
                                         .kept = world_.kept,
                                         .weights = world_.weights,
                                         .weight_decay = world_.weight_decay,
                                         .seed = 5})),
        network_(network) {
    method_->prepare({world_.bucket});
  }

  Session(const Json& method, const World& world, Collective& network)
      : Session(
            [&](const SynchroniserContext& context) {
              return SynchroniserRegistry::instance().make(method, {"test", ""}, context);
            },
            world, network) {}

  // Runs one step of the world's only bucket.
  torch::Tensor step(const torch::Tensor& gradient, std::uint64_t step, bool applied = true) {
    return step_of(world_.bucket, gradient, step, applied);
  }

  // Runs one step of a bucket laid out like `layout`.
  torch::Tensor step_of(const Bucket& layout, const torch::Tensor& gradient, std::uint64_t step,
                        bool applied = true) {
    method_->set_learning_rate(learning_rate_);
    method_->begin_step(step);
    Bucket bucket = layout;
    bucket.gradient = gradient.clone();
    method_->synchronise(bucket, network_);
    if (after_synchronise_) after_synchronise_();
    method_->finish_step(applied);
    if (applied) {
      observe(step);
      move_weights(bucket);
    }
    return bucket.gradient;
  }

  // float32 [size of parameter p]. Writing to them moves the weights between steps.
  const std::vector<torch::Tensor>& weights() const { return world_.weights; }

  // Copies the weights, as restoring a checkpoint does.
  void copy_weights_of(const Session& other) {
    for (std::size_t p = 0; p < weights().size(); ++p) weights()[p].copy_(other.weights()[p]);
  }

  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }

  // Calls `after` between synchronise() and the end of each step.
  void set_after_synchronise(std::function<void()> after) { after_synchronise_ = std::move(after); }

  Synchroniser& method() { return *method_; }

 private:
  // Pretends that the network becomes slower and faster.
  void observe(std::uint64_t step) {
    if (!method_->senses_network()) return;
    const double exchange_s = step % 3 == 0 ? 0.5 : 5;
    method_->observe({.sent_bytes = 1, .exchange_s = exchange_s, .compute_s = 1});
  }

  static World with_own_weights(World world) {
    for (torch::Tensor& weights : world.weights) weights = weights.clone();
    return world;
  }

  void move_weights(const Bucket& bucket) {
    if (weights().empty()) return;
    for (const Slice& slice : bucket.slices) {
      const torch::Tensor& weights = world_.weights[slice.parameter];
      weights.mul_(1 - learning_rate_ * world_.weight_decay).sub_(bucket.view(slice), learning_rate_);
    }
  }

  World world_;
  std::unique_ptr<Synchroniser> method_;
  Collective& network_;
  double learning_rate_ = 0.1;
  std::function<void()> after_synchronise_;
};

}  // namespace thinpipe::trainer::testing
