// Training with a method of local steps (Synchroniser::local_steps). Between exchanges, each worker's
// optimiser takes steps on its own. A round ends with an exchange of the changes of weights:
//   W = W0 + the method's result for the changes W_w - W0 of all workers w;  W0 = W
//
//   rounds.begin_step(optimiser);
//   loss.backward();
//   if (rounds.admits_step()) optimiser.step();
//   if (rounds.ends_with(iteration)) report = rounds.exchange_changes(optimiser);
#pragma once

#include <optional>

#include "trainer/base/modules.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/optimisers/snapshot.hh"

namespace thinpipe::trainer {

class LocalRounds {
 public:
  // `model` and `exchange`, whose method has local steps, must outlive this object. The first round begins
  // with the current weights.
  LocalRounds(Model& model, GradientExchange& exchange);

  void begin_step(torch::optim::Optimizer& optimiser);

  // Zeroes the pruned gradients after backward. Returns false if a gradient is not finite: the step must then
  // not be taken, and the round is lost for every worker.
  bool admits_step();

  // Returns whether the round ends after that many iterations.
  bool ends_with(std::int64_t iteration) const { return iteration % length_ == 0; }

  // Gives all workers the same weights. If a worker's change was not finite, the round is not applied:
  // weights and optimiser state of all workers return to the beginning of the round.
  StepReport exchange_changes(torch::optim::Optimizer& optimiser);

  // Call after GradientExchange::adopt_mask().
  void adopt_mask();

  // Returns the index of the parameter that first had a non-finite gradient in the last round; nullopt
  // if there is none.
  const std::optional<std::size_t>& first_non_finite() const { return first_non_finite_; }

  // Saves a checkpoint's part, possibly in the middle of a round.
  void save(TensorMap& state, torch::optim::Optimizer& optimiser) const;
  // Call after the optimiser has been restored.
  void load(const TensorMap& state, torch::optim::Optimizer& optimiser);

 private:
  std::vector<torch::Tensor> parameters_;
  GradientExchange& exchange_;
  std::int64_t length_;
  std::vector<torch::Tensor> start_;                  // W0
  std::optional<OptimiserSnapshot> optimiser_start_;  // set when the round has a step
  std::int64_t steps_ = 0;                            // in this round so far
  std::optional<std::size_t> first_non_finite_;
  bool lost_ = false;  // whether this worker's round is lost
};

}  // namespace thinpipe::trainer
