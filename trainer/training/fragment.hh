// SPDX-License-Identifier: Apache-2.0
// Weights that a method with local steps exchanges together: all of a model, or some of its layers. Since its last
// exchange, which ended one of its rounds and began the next, each worker's optimiser has changed them on its own:
//   W0 = W0 + the method's result for the changes W_w - W0 of all workers w;  W_w = α·W_w + (1 - α)·W0
// where W_w on the right are the weights when the result is applied, which may be some steps after the exchange began.
#pragma once

#include <optional>
#include <vector>

#include "trainer/base/modules.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/optimisers/snapshot.hh"
#include "trainer/training/float_buffers.hh"

namespace thinpipe::trainer {

class Fragment {
 public:
  // parameters: of `exchange`, in its order. buffers: of the whole model. mixing: α. The first round begins
  // with the current weights.
  Fragment(std::vector<torch::Tensor> parameters, FloatBuffers buffers, GradientExchange& exchange,
           double mixing);

  void begin_step(torch::optim::Optimizer& optimiser);

  // Zeroes the gradients of pruned weights. Returns the number of the first parameter whose gradient is not finite.
  std::optional<std::size_t> check_gradients();

  // Makes the current round void for every worker: its exchange will not be applied.
  void lose_round() { round_.is_lost = true; }

  // Ends the round and begins the exchange of its changes. overlap_steps: see Exchange.
  void begin_exchange(std::int64_t overlap_steps);

  // Waits for the exchange in flight, if there is one, but does not yet apply it. Afterwards the network can be used for
  // something else. Returns how long it waited.
  double await_exchange_s();

  // Applies the exchange in flight. If a worker's change was not finite, it is not applied: the weights, the
  // optimiser's state of them and the model's buffers return on every worker to the beginning of the round.
  // Its exposed time is the wait, unless the exchange was awaited before.
  StepReport apply(torch::optim::Optimizer& optimiser);

  // Gives this worker W0, without what it has changed since.
  void drop_changes();

  // Returns whether this worker lost the round that was exchanged last.
  bool has_lost() const { return has_lost_; }

  // Call after GradientExchange::adopt_mask().
  void adopt_mask();

  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  const std::vector<torch::Tensor>& start() const { return start_; }  // W0

  // Returns whether an exchange has been awaited that will not be applied. It cannot be saved.
  bool is_losing() const { return flight_ && flight_->report && !flight_->report->applied; }

  // Saves a checkpoint's part, under names that begin with `prefix`. The exchange in flight must have been awaited.
  void save(TensorMap& state, const std::string& prefix) const;
  // `optimiser` must have the state of restore_start(), in which the current round began.
  void load(const TensorMap& state, const std::string& prefix, torch::optim::Optimizer& optimiser);
  // Gives the optimiser its state at the beginning of the round; does nothing if the round has no step yet.
  void restore_start(torch::optim::Optimizer& optimiser) const;

 private:
  struct Round {
    std::optional<OptimiserSnapshot> optimiser = {};  // at its beginning; set when it has a step
    std::vector<torch::Tensor> buffers = {};          // likewise
    std::int64_t steps = 0;
    bool is_lost = false;  // on this worker
  };
  struct Flight {
    Round round;
    std::optional<StepReport> report = {};  // set when the exchange has ended
    std::vector<torch::Tensor> results = {};
  };

  void clear_pruned_state(torch::optim::Optimizer& optimiser) const;

  std::vector<torch::Tensor> parameters_;
  FloatBuffers buffers_;
  GradientExchange& exchange_;
  double mixing_;
  std::vector<torch::Tensor> start_;
  Round round_;
  std::optional<Flight> flight_;
  bool has_lost_ = false;
};

}  // namespace thinpipe::trainer
