// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/training_loop.hh"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "trainer/base/device.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/optimisers/set_learning_rate.hh"
#include "trainer/pruning/enforcement.hh"
#include "trainer/pruning/mask_summary.hh"
#include "trainer/pruning/pruned_filters.hh"
#include "trainer/pruning/shared_mask.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/evaluation.hh"
#include "trainer/training/learning_rate.hh"
#include "trainer/training/model_fragments.hh"
#include "trainer/training/shifted_weights.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// Steps between two checks that pruned weights are zero.
constexpr std::int64_t kZeroCheckInterval = 100;
constexpr const char* kErrorsKey = "loop.errors";

NamedParameters some_of(const NamedParameters& parameters, const std::vector<std::size_t>& numbers) {
  NamedParameters some;
  for (const std::size_t p : numbers) some.insert(parameters[p].key(), parameters[p].value());
  return some;
}

std::string exchange_prefix(std::size_t fragment) {
  return fmt::format("fragment.{}.", fragment);
}

RunningStatistics running_statistics(const TrainingConfig& config) {
  return config.training.running_statistics == "mean" ? RunningStatistics::mean : RunningStatistics::rank_0;
}

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
  make_exchanges();
  resume();
}

void TrainingLoop::make_exchanges() {
  const Place place = kConfigurationPlace / "synchroniser";
  const SynchroniserContext context{.parameters = parameter_infos(*model_),
                                    .kept = kept_masks(*model_, *mask_),
                                    .weights = model_->parameters(),
                                    .weight_decay = config_.optimiser.value("weight_decay", 0.0),
                                    .seed = static_cast<std::uint64_t>(config_.seed),
                                    .network = {.workers = collective_->world_size(),
                                                .sums_along_tree = collective_->has_sparse_all_reduce()}};
  const auto make = [&](const SynchroniserContext& of) {
    return SynchroniserRegistry::instance().make(config_.synchroniser, place, of);
  };
  auto method = make(context);
  check_workers(config_, *method);
  if (method->local_steps()) {
    const auto fragments = fragments_of(context.parameters, method->fragments().count, place / "fragments");
    for (const std::vector<std::size_t>& fragment : fragments) {
      exchanges_.push_back(std::make_unique<GradientExchange>(
          some_of(model_->named_parameters(), fragment), *mask_,
          fragments.size() == 1 ? std::move(method) : make(part_of(context, fragment)), *collective_,
          config_.buckets, GradientSource::changes));
    }
    rounds_.emplace(*model_, fragments, exchanges_);
  } else {
    exchanges_.push_back(std::make_unique<GradientExchange>(*model_, *mask_, std::move(method), *collective_,
                                                            config_.buckets));
  }
  for (const auto& exchange : exchanges_) exchange->before_release([this] { straggler_.catch_up(); });
  clip_gradients();
}

// Exchanges that span steps use the network between steps, too.
MeteredCollective& TrainingLoop::idle_collective() {
  if (rounds_) rounds_->await_exchange();
  return *collective_;
}

// With local steps, the gradient that the optimiser sees is the worker's own.
void TrainingLoop::clip_gradients() {
  if (!config_.training.clip_norm) return;
  if (rounds_ || method().clipping() == Clipping::result) {
    max_step_norm_ = config_.training.clip_norm;
  } else {
    exchanges_.front()->clip_gradients(*config_.training.clip_norm);
  }
}

void TrainingLoop::record_calls(TraceRecorder& recorder) {
  recorder_ = &recorder;
  std::vector<std::size_t> all(model_->parameters().size());
  std::iota(all.begin(), all.end(), 0U);
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    exchanges_[i]->record_calls(recorder, rounds_ ? rounds_->parameters_of(i) : all);
  }
}

void TrainingLoop::measure_error() {
  error_meter_ = std::make_shared<ErrorMeter>(collective_->unmetered());
  if (earlier_errors_.defined()) error_meter_->load(earlier_errors_);
  for (const auto& exchange : exchanges_) exchange->measure_error(error_meter_);
}

std::optional<std::int64_t> TrainingLoop::run() {
  if (iteration_ == 0) evaluate_now();
  await_begin_();
  while (iteration_ < last_iteration()) {
    choose_last_iteration();
    prune_if_due();
    step();
    check_mask_if_due();
    check_replicas_if_due();
    if (iteration_ % config_.training.evaluate_every_iterations == 0 || iteration_ == last_iteration())
      evaluate_now();
    checkpoint_if_due();
    if (stop_if_due()) return iteration_;
  }
  report_summary();
  return std::nullopt;
}

// Without local steps, no worker ends the next iteration before rank 0 takes part in its exchange.
void TrainingLoop::choose_last_iteration() {
  if (interruption_.request == nullptr || collective_->rank() != 0 || !interruption_.request->requested())
    return;
  interruption_.request->stop_after(iteration_ + (rounds_ ? rounds_->largest_lead() : 1));
}

// Decides the same on every worker.
bool TrainingLoop::stop_if_due() {
  if (interruption_.request == nullptr || !interruption_.request->is_due(iteration_) ||
      iteration_ == last_iteration())
    return false;
  if ((rounds_ && (rounds_->is_exchanging() || !rounds_->can_be_saved())) ||
      (recorder_ != nullptr && !recorder_->is_complete()))
    return false;
  save_checkpoint(interruption_.directory);
  return true;
}

void TrainingLoop::take_steps(std::int64_t count, const std::function<void(const StepTimes&)>& observe) {
  for (const auto& exchange : exchanges_) exchange->await_gradients(true);
  if (iteration_ == 0) evaluate_one_batch(*model_, dataset_);
  for (std::int64_t i = 0; i < count; ++i) observe(step());
}

StepTimes TrainingLoop::step() {
  report_start();
  const Stopwatch stopwatch;
  enter(WorkerStatus::Phase::computing);
  const Batch batch = loader_.load(iteration_);
  const Durations load = stopwatch.read();
  begin_step();
  const torch::Tensor loss = compute_gradients(batch.to(device_));
  const Durations compute = stopwatch.read() - load;
  enter(WorkerStatus::Phase::exchanging);
  const StepReport report = finish_step();
  const Durations whole = stopwatch.read();
  const double ended_s = Stopwatch::monotonic_s();
  const double iteration_time_s = whole.elapsed_s;
  const double compute_s = iteration_time_s - load.elapsed_s - report.exposed_exchange_s;
  if (recorder_ != nullptr) recorder_->end_step();

  train_time_s_ += iteration_time_s;
  ++iteration_;
  loss_sum_ += loss.item<double>();
  ++loss_count_;
  total_ += report.section;
  skipped_ += report.applied ? 0 : report.steps;
  if (report.exchanged) skipped_in_a_row_ = report.applied ? 0 : skipped_in_a_row_ + 1;
  const double cpu_s =
      loader_.prefetch_cpu_s() + whole.cpu_s + report.section.encode_cpu_s + report.section.decode_cpu_s;
  events_(event::Iteration{.iteration = iteration_,
                           .epoch = epoch(),
                           .times = event::IterationTimes{.train_time_s = train_time_s_,
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
    times_report_->add({.iteration = iteration_,
                        .monotonic_s = ended_s,
                        .iteration_time_s = iteration_time_s,
                        .compute_s = compute_s,
                        .exposed_exchange_s = report.exposed_exchange_s});
  }
  if (!report.applied) spdlog::warn("iteration {}: skipped, a gradient was not finite", iteration_);
  spdlog::debug("iteration {}: {:.6f} s, loss {:.6g}", iteration_, iteration_time_s, loss.item<double>());
  give_up_if_never_finite();
  return {.load = load,
          .prepare_cpu_s = loader_.prefetch_cpu_s(),
          .compute = compute,
          .finish = whole - load - compute - Durations{.elapsed_s = report.exposed_exchange_s},
          .exchanged = report.exchanged,
          .section = report.section,
          .ready = rounds_ ? std::vector(model_->parameters().size(), compute) : exchanges_.front()->ready()};
}

// Called before the iteration's time begins, so that reporting is not part of it. A rate trace that follows
// train time therefore runs ahead by the time of this report, until the report of the iteration's end
// corrects it.
void TrainingLoop::report_start() const {
  if (!reports_starts_) return;
  events_(event::IterationStarted{
      .iteration = iteration_ + 1, .train_time_s = train_time_s_, .monotonic_s = Stopwatch::monotonic_s()});
}

void TrainingLoop::begin_step() {
  for (const auto& exchange : exchanges_) {
    exchange->inspect_gradients(skipped_in_a_row_ + 1 >= config_.training.max_skipped_steps);
    exchange->set_learning_rate(learning_rate());
  }
  rounds_ ? rounds_->begin_step(*optimiser_) : exchanges_.front()->begin_step();
  dropout_->begin_step(iteration_);
  straggler_.begin_step(iteration_);
}

// Takes the step up to new weights.
StepReport TrainingLoop::finish_step() {
  if (!rounds_) {
    const StepReport report = exchanges_.front()->finish_step();
    if (report.applied) update_weights();
    return report;
  }
  if (rounds_->admits_step()) update_weights();
  return rounds_->end_step(iteration_ + 1, last_iteration(), *optimiser_);
}

void TrainingLoop::update_weights() {
  if (max_step_norm_) torch::nn::utils::clip_grad_norm_(model_->parameters(), *max_step_norm_);
  set_learning_rate(*optimiser_, learning_rate());
  optimiser_->step();
}

// Makes the same decision on every worker, because it depends only on `applied`.
void TrainingLoop::give_up_if_never_finite() {
  if (skipped_in_a_row_ < config_.training.max_skipped_steps) return;
  const auto& own = rounds_ ? rounds_->first_non_finite() : exchanges_.front()->first_non_finite();
  const torch::Tensor first = torch::tensor({own ? static_cast<std::int64_t>(*own) : -1}, torch::kLong);
  const std::vector<std::int64_t> one_each(static_cast<std::size_t>(collective_->world_size()), 1);
  const torch::Tensor all = idle_collective().all_gather_v(first, one_each);
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
                  skipped_in_a_row_, iteration_,
                  where.empty() ? "every worker's own gradient was finite, so the synchronisation overflowed"
                                : fmt::format("first {}", fmt::join(where, ", "))));
}

torch::Tensor TrainingLoop::compute_gradients(const Batch& batch) {
  const ShiftedWeights shifted(model_->parameters(), method());
  const torch::Tensor loss = training_loss(config_, *model_, batch);
  straggler_.catch_up();  // after forward, before backward hands over the first bucket
  loss.backward();
  straggler_.catch_up();
  return loss.detach();
}

double TrainingLoop::epoch() const {
  return static_cast<double>(iteration_) / static_cast<double>(loader_.batches_per_epoch());
}

double TrainingLoop::learning_rate() const {
  return full_learning_rate_ *
         learning_rate_share(config_.schedule, iteration_, last_iteration(), loader_.batches_per_epoch());
}

void TrainingLoop::enter(WorkerStatus::Phase phase) {
  if (worker_status_ == nullptr) return;
  worker_status_->enter(phase);
  worker_status_->count(iteration_);
}

void TrainingLoop::share_start(const TensorMap& initial_weights) {
  if (!initial_weights.empty()) load_initial_weights(config_, *model_, initial_weights);
  check_parameter_replicas(*model_, *collective_);
}

// Chooses the mask of the first step, before the optimiser exists.
void TrainingLoop::prune_at_start() {
  const Stopwatch stopwatch;
  mask_ = std::make_unique<Mask>(share_mask(
      *model_, [this] { return choose_mask(config_, *model_, dataset_); }, *collective_));
  mask_->apply(*model_);
  if (schedule_.final_ratio() > 0) pruning_time_s_ += stopwatch.elapsed_s();
}

void TrainingLoop::prune_if_due() {
  const std::optional<double> ratio = schedule_.due(iteration_);
  if (!ratio || iteration_ == 0) return;
  const Stopwatch stopwatch;
  MeteredCollective& network = idle_collective();
  model_->to(torch::kCPU);  // criteria work on the CPU, in float32
  Mask mask = share_mask(
      *model_, [&] { return choose_mask(config_, *model_, dataset_, *ratio, mask_.get()); }, network);
  model_->to(device_);
  *mask_ = std::move(mask);
  enforce(*mask_, *model_, *optimiser_);
  for (const auto& exchange : exchanges_) exchange->adopt_mask(*mask_);
  if (rounds_) rounds_->adopt_mask();
  pruning_time_s_ += stopwatch.elapsed_s();
  spdlog::info("pruned after iteration {}: density {:.4f}", iteration_, mask_->density());
}

void TrainingLoop::check_mask_if_due() {
  if (iteration_ % kZeroCheckInterval == 0) check_pruned_weights_are_zero(*mask_, *model_);
  if (iteration_ % kMaskCheckInterval == 0) check_mask_replicas(*mask_, idle_collective());
}

void TrainingLoop::evaluate_now() {
  enter(WorkerStatus::Phase::evaluating);
  MeteredCollective& network = idle_collective();
  const CommonWeights common(rounds_);
  std::optional<double> train_loss;
  if (loss_count_ > 0) train_loss = mean_over_workers(loss_sum_, loss_count_, network);
  const Evaluation evaluation = evaluate(*model_, dataset_, network, running_statistics(config_));
  spdlog::info("after iteration {}: test loss {:.6g}, accuracy {:.4f}", iteration_, evaluation.loss,
               evaluation.accuracy);
  loss_sum_ = 0;
  loss_count_ = 0;
  events_(event::Evaluation{.iteration = iteration_,
                            .epoch = epoch(),
                            .train_time_s = train_time_s_,
                            .train_loss = train_loss,
                            .test_loss = evaluation.loss,
                            .test_accuracy = evaluation.accuracy});
}

void TrainingLoop::check_replicas_if_due() {
  const std::int64_t every = config_.training.check_replicas_every_iterations > 0
                                 ? config_.training.check_replicas_every_iterations
                                 : config_.training.evaluate_every_iterations;
  if (iteration_ % every != 0 && iteration_ != last_iteration()) return;
  MeteredCollective& network = idle_collective();
  const CommonWeights common(rounds_);
  check_parameter_replicas(*model_, network);
}

void TrainingLoop::checkpoint_if_due() {
  if (checkpoint_options_.directory.empty() || iteration_ % checkpoint_options_.every_iterations != 0) return;
  if (rounds_ && !rounds_->can_be_saved()) {
    spdlog::info("iteration {}: no checkpoint, because a round is being lost", iteration_);
    return;
  }
  save_checkpoint(checkpoint_options_.directory);
}

void TrainingLoop::save_checkpoint(const std::string& directory) {
  TensorMap state = weights_of(*model_, "model.");
  state["mask"] = mask_->packed();
  state["optimiser"] = optimiser_state(*optimiser_);
  state["loop.counts"] = torch::tensor(
      {iteration_, skipped_, skipped_in_a_row_, loss_count_, total_.payload_bytes, total_.collectives},
      torch::kLong);
  state["loop.sums"] =
      torch::tensor({train_time_s_, loss_sum_, total_.sent_bytes, pruning_time_s_}, torch::kDouble);
  for (std::size_t i = 0; i < exchanges_.size(); ++i) exchanges_[i]->save(state, exchange_prefix(i));
  if (rounds_) rounds_->save(state, *optimiser_);
  if (error_meter_) state[kErrorsKey] = error_meter_->saved();
  CheckpointFolder(directory, collective_->rank()).save(iteration_, state);
  spdlog::info("wrote a checkpoint after iteration {}", iteration_);
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
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    exchanges_[i]->adopt_mask(*mask_);
    exchanges_[i]->load(state, exchange_prefix(i));
  }
  if (rounds_) rounds_->load(state, *optimiser_);
  const torch::Tensor counts =
      expect_tensor(state, "loop.counts", torch::empty({6}, torch::kLong), "checkpoint");
  iteration_ = timed_after_ = counts[0].item<std::int64_t>();
  skipped_ = counts[1].item<std::int64_t>();
  skipped_in_a_row_ = counts[2].item<std::int64_t>();
  loss_count_ = counts[3].item<std::int64_t>();
  total_.payload_bytes = counts[4].item<std::int64_t>();
  total_.collectives = counts[5].item<std::int64_t>();
  const torch::Tensor sums =
      expect_tensor(state, "loop.sums", torch::empty({4}, torch::kDouble), "checkpoint");
  train_time_s_ = sums[0].item<double>();
  loss_sum_ = sums[1].item<double>();
  total_.sent_bytes = sums[2].item<double>();
  pruning_time_s_ = sums[3].item<double>();
  if (state.count(kErrorsKey) > 0) earlier_errors_ = state.at(kErrorsKey);
  spdlog::info("resumed from the checkpoint after iteration {}", iteration_);
  events_(event::Resumed{.iteration = iteration_, .train_time_s = train_time_s_});
}

// Returns the method's state, or a list of the states of all fragments.
Json TrainingLoop::method_state() const {
  if (exchanges_.size() == 1) return method().state();
  Json states = Json::array();
  for (const auto& exchange : exchanges_) {
    if (Json state = exchange->synchroniser().state(); !state.is_null()) states.push_back(std::move(state));
  }
  return states.empty() ? Json(nullptr) : Json{{"fragments", std::move(states)}};
}

void TrainingLoop::report_summary() {
  std::int64_t elements = 0;
  for (const ParameterInfo& info : parameter_infos(*model_)) elements += info.size;
  const double dense_bytes = 4.0 * static_cast<double>(elements * iteration_);
  const auto per_iteration = [timed = iteration_ - timed_after_](double sum_s) {
    return timed > 0 ? std::optional(sum_s / static_cast<double>(timed)) : std::nullopt;
  };
  events_(event::Summary{
      .parameters = elements,
      .pruning = {{"density", mask_->density()}, {"layers", summarise(*mask_)}, {"time_s", pruning_time_s_}},
      .synchroniser = method_state(),
      .effective_density = static_cast<double>(total_.payload_bytes) / dense_bytes,
      .vnmse = error_meter_ ? error_meter_->vnmse() : std::nullopt,
      .encode_cpu_s = per_iteration(total_.encode_cpu_s),
      .decode_cpu_s = per_iteration(total_.decode_cpu_s),
      .skipped_steps = skipped_,
      .parameters_hash = fmt::format("{:016x}", parameters_hash(*model_))});
}

}  // namespace thinpipe::trainer
