// SPDX-License-Identifier: Apache-2.0
// One worker's training run, from initial weights to the last evaluation.
#pragma once

#include <memory>

#include "common/protocol/event.hh"
#include "trainer/base/modules.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/models/layers/dropout.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/schedule.hh"
#include "trainer/training/checkpoint.hh"
#include "trainer/training/model_exchange.hh"
#include "trainer/training/progress.hh"
#include "trainer/training/running_statistics.hh"
#include "trainer/training/stop_request.hh"
#include "trainer/training/straggler.hh"
#include "trainer/training/times_report.hh"
#include "trainer/training/training_config.hh"
#include "trainer/training/worker_status.hh"

namespace thinpipe::trainer {

// Receives each event as it happens.
using EventSink = std::function<void(const Event& event)>;

// Too many steps in a row had a non-finite gradient.
class NonFiniteError : public Error {
 public:
  using Error::Error;
};

// The times of an iteration's parts on one worker; between compute and finish it waited for the exchange.
struct StepTimes {
  Durations load;                     // until the batch was ready
  double prepare_cpu_s = 0;           // CPU time of the thread that prefetched the batch
  Durations compute;                  // forward and backward
  Durations finish;                   // update of the weights
  double exchanged_share = 1;         // of the model's entries; 0: a local step, without a section
  Section section = {};               // sum over all buckets
  std::vector<Durations> ready = {};  // GradientExchange::ready(), by parameter of the model
};

// How training can stop before its end, with a checkpoint of its own, and from which one it continues.
struct Interruption {
  StopRequest* request = nullptr;
  std::string directory = {};                     // of the checkpoint
  std::optional<std::int64_t> resume_after = {};  // the iteration of the checkpoint to continue from
};

class TrainingLoop {
 public:
  // Does not communicate. The loop reports its activity to `worker_status`, if given. `slowdowns` are this
  // worker's own. `events` receives IterationStarted, Iteration, Evaluation, Summary and Resumed.
  TrainingLoop(const TrainingConfig& config, const Dataset& dataset, std::unique_ptr<Collective> collective,
               CheckpointOptions checkpoints, EventSink events, WorkerStatus* worker_status = nullptr,
               std::vector<Slowdown> slowdowns = {});

  // Lets run() stop early. Call it, on every worker, before start(), which continues from `resume_after` if there is
  // no later checkpoint.
  void admit_interruption(Interruption interruption) { interruption_ = std::move(interruption); }

  // Sets up everything that needs the other workers: initial weights, the pruning mask of rank 0, buckets.
  // If the checkpoints' directory has a complete set, training resumes from it. If `initial_weights` is
  // empty, all workers draw the same random weights from the seed. Throws InputError if data from a function
  // in a Python file differ between workers. Call it once, on every worker, before the functions below.
  // Collective.
  void start(const TensorMap& initial_weights = {});

  // Measures the error for the summary, see GradientExchange::measure_error(). Call before
  // run(), on every worker.
  void measure_error();

  // Sends an event "iteration_started" before each iteration. Call before run().
  void report_starts() { reports_starts_ = true; }

  // Adds each iteration to `report`, which must outlive this object. Call before run().
  void report_times(TimesReport& report) { times_report_ = &report; }

  // Calls `wait` before the first step of run(), after the evaluation of the initial weights. Call before run().
  void begin_after(std::function<void()> wait) { await_begin_ = std::move(wait); }

  // Records each step's collective calls in `recorder`, which must outlive this object. Call before
  // run(), on every worker.
  void record_calls(TraceRecorder& recorder);

  // Trains to the end, or until a stop is due (admit_interruption). Returns the iteration after which it stopped, with
  // a checkpoint; nullopt if it has finished.
  std::optional<std::int64_t> run();

  // Takes `count` steps instead of run(), without checks or pruning, and calls `observe` for each. First
  // evaluates one batch, so that the first step does not pay for an evaluation's one-time costs.
  void take_steps(std::int64_t count, const std::function<void(const StepTimes&)>& observe);

  const Model& model() const { return *model_; }
  // Returns the network for communication that is not part of the training run. Waits for an exchange in flight.
  Collective& network() { return exchange_->idle_collective().unmetered(); }
  // Returns totals over all steps so far: the payload of the method and the bytes that this worker sent.
  const Section& total() const { return progress_.total; }

 private:
  void check_data_replicas();
  void share_start(const TensorMap& initial_weights);
  void prune_at_start();
  void make_exchange();
  Mask choose_next_mask(double ratio);
  void prune_if_due();
  void check_mask_if_due();
  void resume();
  StepTimes step();
  void report_start() const;
  void begin_step();
  StepReport finish_step();
  // With local steps, the running statistics belong to other weights than the common ones.
  RunningStatistics prepare_statistics();
  void evaluate_now();
  void check_replicas_if_due();
  void checkpoint_if_due();
  void save_checkpoint(const std::string& directory);
  void choose_last_iteration();
  bool stop_if_due();
  void report_summary();
  void update_weights();
  void catch_up();
  void await_device() const;
  torch::Tensor compute_gradients(const Batch& batch);
  std::int64_t last_iteration() const { return config_.training.epochs * loader_.batches_per_epoch(); }
  double epoch() const;
  double learning_rate() const;  // of the next step
  void give_up_if_never_finite();
  void enter(WorkerStatus::Phase phase);

  TrainingConfig config_;
  const Dataset& dataset_;
  std::unique_ptr<MeteredCollective> collective_;
  CheckpointOptions checkpoint_options_;
  Interruption interruption_;
  EventSink events_;
  WorkerStatus* worker_status_;
  torch::Device device_;
  BatchLoader loader_;
  PruningSchedule schedule_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Mask> mask_;
  std::optional<DropoutDraws> dropout_;
  std::unique_ptr<torch::optim::Optimizer> optimiser_;
  double full_learning_rate_ = 0;
  std::optional<double> max_step_norm_;  // norm to which the optimiser's gradient is clipped
  Straggler straggler_;
  std::shared_ptr<ErrorMeter> error_meter_;
  torch::Tensor earlier_errors_;  // ErrorMeter::saved() of the checkpoint, if it has them
  std::optional<ModelExchange> exchange_;

  Progress progress_;
  TraceRecorder* recorder_ = nullptr;
  bool reports_starts_ = false;
  TimesReport* times_report_ = nullptr;
  std::function<void()> await_begin_ = [] {};
};

}  // namespace thinpipe::trainer
