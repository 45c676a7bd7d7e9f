// Training with a method of local steps (Synchroniser::local_steps): between exchanges each worker's
// optimiser goes its own way, and a round ends with the exchange of how far it has moved the weights:
//   W = W0 + what the method makes of the changes W_w - W0 of all workers w;  W0 = W
//
//   rounds.begin_step(optimiser);
//   loss.backward();
//   if (rounds.admits_step()) optimiser.step();
//   if (rounds.ends_with(iteration)) report = rounds.exchange_changes(optimiser);
#pragma once

#include <optional>

#include "trainer/gradient_exchange.hh"
#include "trainer/modules.hh"
#include "trainer/optimisers/snapshot.hh"

namespace thinpipe::trainer {

class LocalRounds {
 public:
  // `model` and `exchange`, whose method has local steps, must outlive this. The first round begins with the
  // weights as they are.
  LocalRounds(Model& model, GradientExchange& exchange);

  void begin_step(torch::optim::Optimizer& optimiser);

  // After backward: zeroes the pruned gradients. False where one is not finite: then the step is not to be
  // taken, and the round is lost, for every worker.
  bool admits_step();

  // Whether the round ends after so many iterations.
  bool ends_with(std::int64_t iteration) const { return iteration % length_ == 0; }

  // Gives all workers the same weights. Not applied if a worker's change was not finite: weights and
  // optimiser of all are then back where the round began.
  StepReport exchange_changes(torch::optim::Optimizer& optimiser);

  // After GradientExchange::adopt_mask().
  void adopt_mask();

  // The parameter, as an index, whose gradient was the first of the last round not to be finite; nothing if
  // none.
  const std::optional<std::size_t>& first_non_finite() const { return first_non_finite_; }

  // For checkpoints, which may come in the middle of a round.
  void save(TensorMap& state, torch::optim::Optimizer& optimiser) const;
  // The optimiser has been restored.
  void load(const TensorMap& state, torch::optim::Optimizer& optimiser);

 private:
  std::vector<torch::Tensor> parameters_;
  GradientExchange& exchange_;
  std::int64_t length_;
  std::vector<torch::Tensor> start_;                  // W0
  std::optional<OptimiserSnapshot> optimiser_start_;  // once the round has a step
  std::int64_t steps_ = 0;                            // of the round so far
  std::optional<std::size_t> first_non_finite_;
  bool lost_ = false;  // this worker's round
};

}  // namespace thinpipe::trainer
