// One worker's training, from starting weights to the last evaluation.
#pragma once

#include <memory>

#include "trainer/checkpoint.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/gradient_exchange.hh"
#include "trainer/local_rounds.hh"
#include "trainer/models/dropout.hh"
#include "trainer/models/model.hh"
#include "trainer/modules.hh"
#include "trainer/pruning/schedule.hh"
#include "trainer/pulse.hh"
#include "trainer/straggler.hh"
#include "trainer/training_config.hh"

namespace thinpipe::trainer {

// Takes each event of docs/results.md ("iteration", "evaluation", "resumed", "summary") as it happens.
using EventSink = std::function<void(const Json& event)>;

// Too many steps in a row had a non-finite gradient.
class NonFiniteError : public Error {
 public:
  using Error::Error;
};

// What the parts of an iteration took one worker; between compute and finish it waited for the exchange.
struct StepTimes {
  Durations load;                       // until the batch was there
  double prepare_processor_s = 0;       // of the thread that had made it meanwhile
  Durations compute;                    // forward and backward
  Durations finish;                     // up to new weights
  bool exchanged = true;                // false: a local step, without the two below
  Section section = {};                 // of all buckets
  const std::vector<Durations>& ready;  // GradientExchange's
};

struct CheckpointOptions {
  std::string directory;  // empty: no checkpoints
  std::int64_t every_iterations = 0;
};

class TrainingLoop {
 public:
  // Sets up everything that needs the other workers: starting weights, the pruning mask of rank 0, buckets.
  // When `checkpoints` names a directory with a complete set, training goes on from there. `starting_weights`
  // may be empty: then all workers draw the same random weights from the seed. `pulse`, where given, is told
  // what the loop is doing. `slowdowns` are this worker's own.
  TrainingLoop(const TrainingConfig& config, const Dataset& dataset, std::unique_ptr<Collective> collective,
               const TensorMap& starting_weights, CheckpointOptions checkpoints, EventSink events,
               Pulse* pulse = nullptr, std::vector<Slowdown> slowdowns = {});

  // Before run(), on every worker: for the summary. See GradientExchange::measure_error().
  void measure_error() { exchange_->measure_error(); }

  // Likewise: tells `recorder`, which must outlive this, what each step asks of collectives.
  void record_calls(TraceRecorder& recorder);

  void run();

  // Instead of run(): so many iterations without checks or pruning, and of evaluations what makes the first
  // iteration take no longer than after one. `observe` is told of each.
  void take_steps(std::int64_t count, const std::function<void(const StepTimes&)>& observe);

  const Model& model() const { return *model_; }
  // For what is no part of a training.
  Collective& network() { return collective_->unmetered(); }
  // Of all steps so far: what the method handed to collectives and what this worker sent.
  const Section& total() const { return total_; }

 private:
  void clip_gradients();
  void agree_on_start(const TensorMap& starting_weights);
  void prune_at_start();
  void prune_if_due();
  void check_mask_if_due();
  void resume();
  StepTimes step();
  void begin_step();
  StepReport finish_step();
  void evaluate_now();
  void check_agreement_if_due();
  void checkpoint_if_due();
  void report_summary();
  void update_weights();
  torch::Tensor compute_gradients(const Batch& batch);
  std::int64_t last_iteration() const { return config_.training.epochs * loader_.batches_per_epoch(); }
  double epoch() const;
  double learning_rate() const;  // of the step to come
  void give_up_if_never_finite();
  void enter(Pulse::Phase phase);

  TrainingConfig config_;
  const Dataset& dataset_;
  std::unique_ptr<MeteredCollective> collective_;
  CheckpointOptions checkpoint_options_;
  EventSink events_;
  Pulse* pulse_;
  torch::Device device_;
  BatchLoader loader_;
  PruningSchedule schedule_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Mask> mask_;
  std::optional<DropoutDraws> dropout_;
  std::unique_ptr<torch::optim::Optimizer> optimiser_;
  double full_learning_rate_ = 0;
  std::optional<double> longest_step_;  // what the optimiser steps by is clipped to it
  Straggler straggler_;
  std::unique_ptr<GradientExchange> exchange_;
  std::optional<LocalRounds> rounds_;  // where the method has local steps

  std::int64_t iteration_ = 0;  // steps done
  double train_time_s_ = 0;
  std::int64_t skipped_in_a_row_ = 0;
  std::int64_t skipped_ = 0;
  double loss_sum_ = 0;  // of this worker's batches since the last evaluation
  std::int64_t loss_count_ = 0;
  Section total_;
  TraceRecorder* recorder_ = nullptr;
};

}  // namespace thinpipe::trainer
