// SPDX-License-Identifier: Apache-2.0
// Training with a method of local steps (Synchroniser::local_steps). Between exchanges, each worker's
// optimiser takes steps on its own. A round of H steps ends with an exchange of the changes of weights. With P
// fragments (Synchroniser::fragments), an exchange of the next fragment's changes begins every H / P steps, so that each
// fragment has a round of H steps of its own. Training goes on meanwhile; the result is applied `overlap_steps` steps later.
//
//   rounds.begin_step(optimiser);
//   loss.backward();
//   if (rounds.admits_step()) optimiser.step();
//   report = rounds.end_step(iteration, last_iteration, optimiser);
//
// The last iteration ends with one exchange: the one in flight, or that of the next fragment. It leaves every worker
// with the common weights.
#pragma once

#include <memory>
#include <optional>

#include "trainer/base/modules.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/training/fragment.hh"

namespace thinpipe::trainer {

class LocalRounds {
 public:
  // fragments[f]: the numbers of fragment f's parameters in the model, which exchanges[f] has. `model` and the
  // exchanges, whose method has local steps, must outlive this object. The first round begins with the current weights.
  LocalRounds(const Model& model, std::vector<std::vector<std::size_t>> fragments,
              const std::vector<std::unique_ptr<GradientExchange>>& exchanges);

  void begin_step(torch::optim::Optimizer& optimiser);

  // Zeroes the pruned gradients after backward. Returns false if a gradient is not finite: the step must then
  // not be taken, and the rounds are lost for every worker.
  bool admits_step();

  // Ends the step with that number, from 1: applies the exchange that is due, and begins the next one. Tells in
  // StepReport::exchanged whether one was applied.
  StepReport end_step(std::int64_t iteration, std::int64_t last_iteration,
                      torch::optim::Optimizer& optimiser);

  // Waits for the exchange in flight, so that the network can be used for something else. Training has to make up for
  // the time that the exchange was given: the exchange is not applied before that much train time has passed.
  void await_exchange();

  // Call after GradientExchange::adopt_mask(), with no exchange on the network.
  void adopt_mask();

  // Returns the index of the parameter that first had a non-finite gradient in the last round; nullopt
  // if there is none.
  const std::optional<std::size_t>& first_non_finite() const { return first_non_finite_; }

  const std::vector<Fragment>& fragments() const { return fragments_; }
  // Returns the numbers of a fragment's parameters in the model.
  const std::vector<std::size_t>& parameters_of(std::size_t fragment) const { return numbers_[fragment]; }

  // Returns the largest number of steps by which a worker can be ahead of another.
  std::int64_t largest_lead() const { return interval_ + overlap_steps_; }

  // Returns whether an exchange is on its way, whose bytes have not been reported.
  bool is_exchanging() const { return flight_.has_value(); }

  // Returns whether all state can be saved: not while an exchange is in flight that will not be applied, which is the
  // same on every worker. Waits for the exchange in flight.
  bool can_be_saved();
  // Saves a checkpoint's part, possibly in the middle of a round.
  void save(TensorMap& state, torch::optim::Optimizer& optimiser) const;
  // Call after the optimiser has been restored.
  void load(const TensorMap& state, torch::optim::Optimizer& optimiser);

 private:
  struct Flight {
    std::size_t fragment = 0;
    std::int64_t due = 0;  // the iteration at whose end it is applied
    double given_s =
        0;  // time on the network that was not train time, and that later steps have not made up for
  };

  std::optional<std::size_t> fragment_due(std::int64_t iteration, std::int64_t last_iteration) const;
  void begin_exchange(std::size_t fragment, std::int64_t iteration, std::int64_t last_iteration);
  StepReport apply(torch::optim::Optimizer& optimiser);

  std::vector<Fragment> fragments_;
  std::vector<double> shares_;                     // of the model's entries in each fragment
  std::vector<std::vector<std::size_t>> numbers_;  // of each fragment's parameters in the model
  std::int64_t interval_;                          // steps between two exchanges
  std::int64_t overlap_steps_;
  std::optional<Flight> flight_;
  std::optional<std::size_t> first_non_finite_;
  Stopwatch step_;  // since begin_step()
};

// Gives the model the weights that all workers have in common, for as long as this object exists.
class CommonWeights {
 public:
  // Does nothing without rounds: the workers' weights are then the same.
  explicit CommonWeights(const std::optional<LocalRounds>& rounds);
  ~CommonWeights();
  CommonWeights(const CommonWeights&) = delete;
  CommonWeights& operator=(const CommonWeights&) = delete;
  CommonWeights(CommonWeights&&) = delete;
  CommonWeights& operator=(CommonWeights&&) = delete;

 private:
  struct Own {
    torch::Tensor parameter;
    torch::Tensor data;
  };

  std::vector<Own> own_;
};

}  // namespace thinpipe::trainer
