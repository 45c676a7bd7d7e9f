// SPDX-License-Identifier: Apache-2.0
// What workers exchange while they train a model: the gradient of each step, or, if the method has local steps, the
// changes of weights of each round.
//
//   exchange.begin_step(optimiser, learning_rate, false);
//   loss.backward();
//   report = exchange.finish_step(iteration, last_iteration, optimiser, [&] { optimiser.step(); });
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/base/modules.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/training/float_buffers.hh"
#include "trainer/training/local_rounds.hh"
#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {

class ModelExchange {
 public:
  // Creates the configured method, one for each fragment of the model. `model` and `collective` must outlive this
  // object. Throws InputError if the method cannot serve that many workers or cannot divide the model, and
  // CollectiveError if the workers' layouts differ. Collective.
  ModelExchange(const TrainingConfig& config, Model& model, const Mask& mask, MeteredCollective& collective);

  // The following are of every exchange, see GradientExchange. Call them before the first step, on every worker.
  void before_release(const std::function<void()>& action);
  void measure_error(const std::shared_ptr<ErrorMeter>& meter);
  void record_calls(TraceRecorder& recorder);
  void await_gradients();
  // Clips the gradient to that Euclidean norm. Returns the norm if it is the optimiser's gradient that must be
  // clipped, before each update: the worker's own with local steps, and a result that the method wants clipped.
  std::optional<double> clip_gradients(double norm);

  // inspect: see GradientExchange::inspect_gradients(). learning_rate: of this step.
  void begin_step(torch::optim::Optimizer& optimiser, double learning_rate, bool inspect);
  // Ends the step with that number, from 1, after backward. Calls `update` to take the step, unless a gradient was not
  // finite; running statistics that the step has made infinite or NaN then return to what they were before it.
  StepReport finish_step(std::int64_t iteration, std::int64_t last_iteration,
                         torch::optim::Optimizer& optimiser, const std::function<void()>& update);

  // Returns, for each parameter, the time in the last step from its beginning to the parameter's gradient. With local
  // steps, no exchange waits for a single gradient, and it is `compute`, the time to the end of backward.
  std::vector<Durations> ready(const Durations& compute) const;

  // Returns the number of the parameter that first had a non-finite gradient; nullopt if there is none.
  const std::optional<std::size_t>& first_non_finite() const;

  // Returns the network for something else. Waits for an exchange in flight.
  MeteredCollective& idle_collective();

  // Uses a new mask from the next step on, with no exchange in flight.
  void adopt_mask(const Mask& mask);

  const Synchroniser& method() const { return exchanges_.front()->synchroniser(); }
  // Returns the method's state for the summary, or a list of the states of all fragments.
  Json method_state() const;
  // Set if the method has local steps.
  const std::optional<LocalRounds>& rounds() const { return rounds_; }

  // Returns the largest number of steps by which a worker can be ahead of another.
  std::int64_t largest_lead() const { return rounds_ ? rounds_->largest_lead() : 1; }
  // Returns whether the bytes of an exchange on its way have not been reported.
  bool is_exchanging() const { return rounds_ && rounds_->is_exchanging(); }
  // See LocalRounds::can_be_saved().
  bool can_be_saved() { return !rounds_ || rounds_->can_be_saved(); }

  // Saves a checkpoint's part.
  void save(TensorMap& state, torch::optim::Optimizer& optimiser) const;
  // Call after the optimiser has been restored. mask: the checkpoint's.
  void load(const TensorMap& state, const Mask& mask, torch::optim::Optimizer& optimiser);

 private:
  MeteredCollective& collective_;
  std::vector<std::unique_ptr<GradientExchange>> exchanges_;  // one, or one per fragment of the model
  std::optional<LocalRounds> rounds_;
  std::size_t parameters_;
  FloatBuffers buffers_;
  std::vector<torch::Tensor> buffers_before_;  // the step; without local steps
};

}  // namespace thinpipe::trainer
