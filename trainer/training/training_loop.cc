// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/training_loop.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "trainer/base/device.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/optimisers/set_learning_rate.hh"
#include "trainer/pruning/enforcement.hh"
#include "trainer/pruning/mask_summary.hh"
#include "trainer/pruning/pruned_filters.hh"
#include "trainer/pruning/shared_mask.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/evaluation.hh"
#include "trainer/training/learning_rate.hh"
#include "trainer/training/shifted_weights.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// Steps between two checks that pruned weights are zero.
constexpr std::int64_t kZeroCheckInterval = 100;
constexpr const char* kErrorsKey = "loop.errors";

}  // namespace

TrainingLoop::TrainingLoop(const TrainingConfig& config, const Dataset& dataset,
                           std::unique_ptr<Collective> collective, CheckpointOptions checkpoints,
                           EventSink events, WorkerStatus* worker_status, std::vector<Slowdown> slowdowns)
    : config_(config),
      dataset_(dataset),
      collective_(std::make_unique<MeteredCollective>(std::move(collective))),
      checkpoint_options_(std::move(checkpoints)),
      events_(std::move(events)),
      worker_status_(worker_status),
      device_(device_for(config.compute.device, collective_->rank())),
      loader_(dataset, batch_options(config, dataset, collective_->rank())),
      schedule_(make_pruning(config).schedule),
      model_(make_model(config, dataset.shape())),
      straggler_(std::move(slowdowns)) {}

void TrainingLoop::start(const TensorMap& initial_weights) {
  share_start(initial_weights);
  prune_at_start();
  model_->to(device_);
  dropout_.emplace(*model_, static_cast<std::uint64_t>(config_.seed), collective_->rank());
  optimiser_ = OptimiserRegistry::instance().make(config_.optimiser, kConfigurationPlace / "optimiser",
                                                  optimised_parameters_of(*model_));
  full_learning_rate_ = optimiser_->param_groups().front().options().get_lr();
  make_exchange();
  resume();
}

void TrainingLoop::make_exchange() {
  exchange_.emplace(config_, *model_, *mask_, *collective_);
  // The end of a round may wait for the previous one's exchange, which is no compute.
  if (!exchange_->rounds()) exchange_->before_release([this] { catch_up(); });
  if (config_.training.clip_norm) max_step_norm_ = exchange_->clip_gradients(*config_.training.clip_norm);
}

void TrainingLoop::record_calls(TraceRecorder& recorder) {
  recorder_ = &recorder;
  exchange_->record_calls(recorder);
}

void TrainingLoop::measure_error() {
  error_meter_ = std::make_shared<ErrorMeter>(collective_->unmetered());
  if (earlier_errors_.defined()) error_meter_->load(earlier_errors_);
  exchange_->measure_error(error_meter_);
}

std::optional<std::int64_t> TrainingLoop::run() {
  if (progress_.iteration == 0) evaluate_now();
  await_begin_();
  while (progress_.iteration < last_iteration()) {
    choose_last_iteration();
    prune_if_due();
    step();
    check_mask_if_due();
    check_replicas_if_due();
    if (progress_.iteration % config_.training.evaluate_every_iterations == 0 ||
        progress_.iteration == last_iteration())
      evaluate_now();
    checkpoint_if_due();
    if (stop_if_due()) return progress_.iteration;
  }
  report_summary();
  return std::nullopt;
}

// Without local steps, no worker ends the next iteration before rank 0 takes part in its exchange.
void TrainingLoop::choose_last_iteration() {
  if (interruption_.request == nullptr || collective_->rank() != 0 || !interruption_.request->requested())
    return;
  interruption_.request->stop_after(progress_.iteration + exchange_->largest_lead());
}

// Decides the same on every worker.
bool TrainingLoop::stop_if_due() {
  if (interruption_.request == nullptr || !interruption_.request->is_due(progress_.iteration) ||
      progress_.iteration == last_iteration())
    return false;
  if (exchange_->is_exchanging() || !exchange_->can_be_saved()) return false;
  if (recorder_ != nullptr && !recorder_->is_complete()) return false;
  save_checkpoint(interruption_.directory);
  return true;
}

void TrainingLoop::take_steps(std::int64_t count, const std::function<void(const StepTimes&)>& observe) {
  exchange_->await_gradients();
  if (progress_.iteration == 0) evaluate_one_batch(*model_, dataset_);
  for (std::int64_t i = 0; i < count; ++i) observe(step());
}

StepTimes TrainingLoop::step() {
  report_start();
  const Stopwatch stopwatch;
  enter(WorkerStatus::Phase::computing);
  const Batch batch = loader_.load(progress_.iteration);
  const Durations load = stopwatch.read();
  begin_step();
  const torch::Tensor loss = compute_gradients(batch.to(device_));
  const Durations backward = stopwatch.read() - load;
  enter(WorkerStatus::Phase::exchanging);
  const StepReport report = finish_step();
  const Durations compute = backward + report.clipping;
  await_device();
  const Durations whole = stopwatch.read();
  const double ended_s = Stopwatch::monotonic_s();
  const double iteration_time_s = whole.elapsed_s;
  const double compute_s = iteration_time_s - load.elapsed_s - report.exposed_exchange_s;
  if (recorder_ != nullptr) recorder_->end_step();

  progress_.add(report, iteration_time_s, loss.item<double>());
  const double cpu_s =
      loader_.prefetch_cpu_s() + whole.cpu_s + report.section.encode_cpu_s + report.section.decode_cpu_s;
  events_(event::Iteration{.iteration = progress_.iteration,
                           .epoch = epoch(),
                           .times = event::IterationTimes{.train_time_s = progress_.train_time_s,
                                                          .iteration_time_s = iteration_time_s,
                                                          .load_s = load.elapsed_s,
                                                          .compute_s = compute_s,
                                                          .encode_s = report.section.encode_s,
                                                          .exchange_s = report.section.exchange_s,
                                                          .decode_s = report.section.decode_s,
                                                          .exposed_exchange_s = report.exposed_exchange_s,
                                                          .first_bucket_s = report.first_bucket_s,
                                                          .cpu_s = cpu_s},
                           .train_loss = loss.item<double>(),
                           .applied = report.applied,
                           .payload_bytes = report.section.payload_bytes,
                           .sent_bytes = report.section.sent_bytes,
                           .delivered_bytes = report.section.delivered_bytes});
  if (times_report_ != nullptr) {
    times_report_->add({.iteration = progress_.iteration,
                        .monotonic_s = ended_s,
                        .iteration_time_s = iteration_time_s,
                        .compute_s = compute_s,
                        .exposed_exchange_s = report.exposed_exchange_s});
  }
  if (!report.applied) spdlog::warn("iteration {}: skipped, a gradient was not finite", progress_.iteration);
  spdlog::debug("iteration {}: {:.6f} s, loss {:.6g}", progress_.iteration, iteration_time_s,
                loss.item<double>());
  give_up_if_never_finite();
  return {.load = load,
          .prepare_cpu_s = loader_.prefetch_cpu_s(),
          .compute = compute,
          .finish = whole - load - compute - Durations{.elapsed_s = report.exposed_exchange_s},
          .exchanged_share = report.exchanged ? report.exchanged_share : 0,
          .section = report.section,
          .ready = exchange_->ready(compute)};
}

// Called before the iteration's time begins, so that reporting is not part of it. A rate trace that follows
// train time therefore runs ahead by the time of this report, until the report of the iteration's end
// corrects it.
void TrainingLoop::report_start() const {
  if (!reports_starts_) return;
  events_(event::IterationStarted{.iteration = progress_.iteration + 1,
                                  .train_time_s = progress_.train_time_s,
                                  .monotonic_s = Stopwatch::monotonic_s()});
}

void TrainingLoop::begin_step() {
  exchange_->begin_step(*optimiser_, learning_rate(),
                        progress_.skipped_in_a_row + 1 >= config_.training.max_skipped_steps);
  dropout_->begin_step(progress_.iteration);
  straggler_.begin_step(progress_.iteration);
}

// Takes the step up to new weights.
StepReport TrainingLoop::finish_step() {
  return exchange_->finish_step(progress_.iteration + 1, last_iteration(), *optimiser_,
                                [this] { update_weights(); });
}

void TrainingLoop::update_weights() {
  if (max_step_norm_) torch::nn::utils::clip_grad_norm_(model_->parameters(), *max_step_norm_);
  set_learning_rate(*optimiser_, learning_rate());
  optimiser_->step();
  if (exchange_->rounds()) catch_up();  // it is the worker's own step, and the round may end with it
}

void TrainingLoop::catch_up() {
  if (straggler_.factor() == 1) return;
  await_device();
  straggler_.catch_up();
}

// A GPU's compute belongs to the time that is read next.
void TrainingLoop::await_device() const {
  DeviceEvent given;
  given.set(device_);
  given.wait();
}

// Makes the same decision on every worker, because it depends only on `applied`.
void TrainingLoop::give_up_if_never_finite() {
  if (progress_.skipped_in_a_row < config_.training.max_skipped_steps) return;
  const auto& own = exchange_->first_non_finite();
  const torch::Tensor first = torch::tensor({own ? static_cast<std::int64_t>(*own) : -1}, torch::kLong);
  const std::vector<std::int64_t> one_each(static_cast<std::size_t>(collective_->world_size()), 1);
  const torch::Tensor all = exchange_->idle_collective().all_gather_v(first, one_each);
  std::vector<std::string> where;
  for (std::int64_t rank = 0; rank < all.numel(); ++rank) {
    const auto parameter = all[rank].item<std::int64_t>();
    if (parameter < 0) continue;
    where.push_back(fmt::format("{} on rank {}",
                                parameter_infos(*model_).at(static_cast<std::size_t>(parameter)).name, rank));
  }
  throw NonFiniteError(
      fmt::format("the gradient of {} steps in a row was not finite, the last at iteration {}: {}; a lower "
                  "learning rate may help",
                  progress_.skipped_in_a_row, progress_.iteration,
                  where.empty() ? "every worker's own gradient was finite, so the synchronisation overflowed"
                                : fmt::format("first {}", fmt::join(where, ", "))));
}

torch::Tensor TrainingLoop::compute_gradients(const Batch& batch) {
  const ShiftedWeights shifted(model_->parameters(), exchange_->method());
  const torch::Tensor loss = training_loss(config_, *model_, batch);
  catch_up();  // after forward, before backward hands over the first bucket
  loss.backward();
  catch_up();
  return loss.detach();
}

double TrainingLoop::epoch() const {
  return static_cast<double>(progress_.iteration) / static_cast<double>(loader_.batches_per_epoch());
}

double TrainingLoop::learning_rate() const {
  return full_learning_rate_ * learning_rate_share(config_.schedule, progress_.iteration, last_iteration(),
                                                   loader_.batches_per_epoch());
}

void TrainingLoop::enter(WorkerStatus::Phase phase) {
  if (worker_status_ == nullptr) return;
  worker_status_->enter(phase);
  worker_status_->count(progress_.iteration);
}

// Each worker has called the user's function on its own.
void TrainingLoop::check_data_replicas() {
  if (!names_script(config_.dataset)) return;
  const std::string digits = content_hash(dataset_);
  try {
    check_replicas("data set", std::stoull(digits, nullptr, 16), *collective_);
  } catch (const DivergenceError& error) {
    throw InputError(kConfigurationPlace / "dataset" / "name",
                     fmt::format("{}: the function must return the same data each time it is called, so seed "
                                 "whatever it draws",
                                 error.what()));
  }
}

void TrainingLoop::share_start(const TensorMap& initial_weights) {
  check_data_replicas();
  if (!initial_weights.empty()) load_initial_weights(config_, *model_, initial_weights);
  check_parameter_replicas(*model_, *collective_);
}

// Chooses the mask of the first step, before the optimiser exists.
void TrainingLoop::prune_at_start() {
  const Stopwatch stopwatch;
  mask_ = std::make_unique<Mask>(share_mask(
      *model_, [this] { return choose_mask(config_, *model_, dataset_); }, *collective_));
  mask_->apply(*model_);
  if (schedule_.final_ratio() > 0) progress_.pruning_time_s += stopwatch.elapsed_s();
}

// With local steps, the workers' own weights differ: rank 0's would decide for all.
Mask TrainingLoop::choose_next_mask(double ratio) {
  MeteredCollective& network = exchange_->idle_collective();
  const CommonWeights common(exchange_->rounds());
  model_->to(torch::kCPU);  // criteria work on the CPU, in float32
  Mask mask = share_mask(
      *model_, [&] { return choose_mask(config_, *model_, dataset_, ratio, mask_.get()); }, network);
  model_->to(device_);
  return mask;
}

void TrainingLoop::prune_if_due() {
  const std::optional<double> ratio = schedule_.due(progress_.iteration);
  if (!ratio || progress_.iteration == 0) return;
  const Stopwatch stopwatch;
  *mask_ = choose_next_mask(*ratio);
  enforce(*mask_, *model_, *optimiser_);
  exchange_->adopt_mask(*mask_);
  progress_.pruning_time_s += stopwatch.elapsed_s();
  spdlog::info("pruned after iteration {}: density {:.4f}", progress_.iteration, mask_->density());
}

void TrainingLoop::check_mask_if_due() {
  if (progress_.iteration % kZeroCheckInterval == 0) check_pruned_weights_are_zero(*mask_, *model_);
  if (progress_.iteration % kMaskCheckInterval == 0)
    check_mask_replicas(*mask_, exchange_->idle_collective());
}

RunningStatistics TrainingLoop::prepare_statistics() {
  if (!exchange_->rounds()) {
    return config_.training.running_statistics == "mean" ? RunningStatistics::mean
                                                         : RunningStatistics::rank_0;
  }
  BatchLoader loader(dataset_, batch_options(config_, dataset_, collective_->rank()));
  estimate_running_statistics(*model_, [&](std::int64_t batch) { return loader.load(batch); });
  return RunningStatistics::mean;
}

void TrainingLoop::evaluate_now() {
  enter(WorkerStatus::Phase::evaluating);
  MeteredCollective& network = exchange_->idle_collective();
  const CommonWeights common(exchange_->rounds());
  std::optional<double> train_loss;
  if (progress_.loss_count > 0)
    train_loss = mean_over_workers(progress_.loss_sum, progress_.loss_count, network);
  const Evaluation evaluation = evaluate(*model_, dataset_, network, prepare_statistics());
  spdlog::info("after iteration {}: test loss {:.6g}, accuracy {:.4f}", progress_.iteration, evaluation.loss,
               evaluation.accuracy);
  progress_.loss_sum = 0;
  progress_.loss_count = 0;
  events_(event::Evaluation{.iteration = progress_.iteration,
                            .epoch = epoch(),
                            .train_time_s = progress_.train_time_s,
                            .train_loss = train_loss,
                            .test_loss = evaluation.loss,
                            .test_accuracy = evaluation.accuracy});
}

void TrainingLoop::check_replicas_if_due() {
  const std::int64_t every = config_.training.check_replicas_every_iterations > 0
                                 ? config_.training.check_replicas_every_iterations
                                 : config_.training.evaluate_every_iterations;
  if (progress_.iteration % every != 0 && progress_.iteration != last_iteration()) return;
  MeteredCollective& network = exchange_->idle_collective();
  const CommonWeights common(exchange_->rounds());
  check_parameter_replicas(*model_, network);
}

void TrainingLoop::checkpoint_if_due() {
  if (checkpoint_options_.directory.empty() ||
      progress_.iteration % checkpoint_options_.every_iterations != 0)
    return;
  if (!exchange_->can_be_saved()) {
    spdlog::info("iteration {}: no checkpoint, because a round is being lost", progress_.iteration);
    return;
  }
  save_checkpoint(checkpoint_options_.directory);
  // Otherwise the next step's train time would include the wait for a worker that is still writing.
  exchange_->idle_collective().unmetered().barrier();
}

void TrainingLoop::save_checkpoint(const std::string& directory) {
  TensorMap state = weights_of(*model_, "model.");
  state["mask"] = mask_->packed();
  state["optimiser"] = optimiser_state(*optimiser_);
  progress_.save(state);
  exchange_->save(state, *optimiser_);
  if (error_meter_) state[kErrorsKey] = error_meter_->saved();
  CheckpointFolder(directory, collective_->rank()).save(progress_.iteration, state);
  spdlog::info("wrote a checkpoint after iteration {}", progress_.iteration);
}

void TrainingLoop::resume() {
  std::optional<CheckpointFolder::Found> found;
  if (!checkpoint_options_.directory.empty())
    found = CheckpointFolder(checkpoint_options_.directory, collective_->rank()).load_newest(*collective_);
  if (const auto after = interruption_.resume_after; !found && after)
    found = {*after, CheckpointFolder(interruption_.directory, collective_->rank()).load(*after)};
  if (!found) return;
  const TensorMap& state = found->state;
  load_weights(*model_, state, "checkpoint", "model.");
  *mask_ = Mask::unpack(*model_, expect_tensor(state, "mask", mask_->packed(), "checkpoint"));
  check_mask_replicas(*mask_, *collective_);
  skip_pruned_filters(*mask_, *model_);
  restore_optimiser(*optimiser_, state.at("optimiser"));
  exchange_->load(state, *mask_, *optimiser_);
  progress_.load(state);
  if (state.count(kErrorsKey) > 0) earlier_errors_ = state.at(kErrorsKey);
  spdlog::info("resumed from the checkpoint after iteration {}", progress_.iteration);
  events_(event::Resumed{.iteration = progress_.iteration, .train_time_s = progress_.train_time_s});
}

void TrainingLoop::report_summary() {
  std::int64_t elements = 0;
  for (const ParameterInfo& info : parameter_infos(*model_)) elements += info.size;
  const double dense_bytes = 4.0 * static_cast<double>(elements * progress_.iteration);
  events_(
      event::Summary{.parameters = elements,
                     .pruning = {{"density", mask_->density()},
                                 {"layers", summarise(*mask_)},
                                 {"time_s", progress_.pruning_time_s}},
                     .synchroniser = exchange_->method_state(),
                     .effective_density = static_cast<double>(progress_.total.payload_bytes) / dense_bytes,
                     .vnmse = error_meter_ ? error_meter_->vnmse() : std::nullopt,
                     .encode_cpu_s = progress_.mean_s(progress_.total.encode_cpu_s),
                     .decode_cpu_s = progress_.mean_s(progress_.total.decode_cpu_s),
                     .skipped_steps = progress_.skipped,
                     .parameters_hash = fmt::format("{:016x}", parameters_hash(*model_))});
}

}  // namespace thinpipe::trainer
