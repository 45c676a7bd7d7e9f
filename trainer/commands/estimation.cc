// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/estimation.hh"

#include <algorithm>
#include <optional>
#include <thread>

#include <unistd.h>

#include "common/support/atomic_file.hh"
#include "trainer/base/roofline_clock.hh"
#include "trainer/commands/planning/planned_traffic.hh"
#include "trainer/commands/worker.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

constexpr double passes_of_a_code = 4;

// Repeats examples if there are too few: their values do not matter.
Batch batch_of(const Dataset& dataset, std::int64_t size) {
  const std::int64_t some = std::min(size, dataset.train().size());
  const Batch batch = prepare_batch(dataset, dataset.train(), 0, some);
  const torch::Tensor indices = torch::arange(size).remainder(some);
  return {batch.inputs.index_select(0, indices), batch.labels.index_select(0, indices)};
}

// Returns whether no gradient is exchanged before the norm of all is known.
bool clips_before_exchange(const TrainingConfig& config, const Model& model) {
  if (!config.training.clip_norm) return false;
  const auto synchroniser = planned_synchroniser(config, model);
  return !synchroniser->local_steps() && synchroniser->clipping() == Clipping::local;
}

// Returns the time of an optimiser's step.
double step_s(torch::optim::Optimizer& optimiser, const Device& device) {
  Device updating = device;
  updating.kernel_s = device.update_kernel_s.value_or(device.kernel_s);
  const RooflineClock clock(updating);
  optimiser.step();
  return clock.elapsed_s();
}

}  // namespace

Estimation read_estimation_file(const std::string& path) {
  auto file = load_worker_file<EstimateFile>(path);
  auto config = parse_training_config(file.config, {path, "/config"});
  return {.file = std::move(file), .config = std::move(config)};
}

ComputeProfile estimate_profile(const TrainingConfig& config, const Device& device, std::int64_t batch_size) {
  at::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const std::unique_ptr<Dataset> dataset = make_dataset(config);
  const std::shared_ptr<Model> model = make_model(config, dataset->shape());
  const auto optimiser = OptimiserRegistry::instance().make(
      config.optimiser, kConfigurationPlace / "optimiser", optimised_parameters_of(*model));
  const Batch batch = batch_of(*dataset, batch_size);

  const std::vector<torch::Tensor> parameters = model->parameters();
  ComputeProfile profile{.origin = "estimated", .device = to_json(device), .configuration = to_json(config)};
  ComputeTimes& times = profile.elapsed;
  times.ready_s.resize(parameters.size());
  double gradient_bytes = 0;
  std::optional<RooflineClock> clock(device);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    gradient_bytes += static_cast<double>(parameters[p].nbytes());
    parameters[p].register_hook(
        [&times, &clock, p](const torch::Tensor&) { times.ready_s[p] = clock->elapsed_s(); });
  }
  training_loss(config, *model, batch).backward();
  times.compute_s = clock->elapsed_s();
  // Parameters that the loss does not depend on.
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].grad().defined()) times.ready_s[p] = times.compute_s;
  }
  if (clips_before_exchange(config, *model)) std::ranges::fill(times.ready_s, times.compute_s);
  profile.device["flops"] = clock->flops();
  clock.reset();
  times.finish_s = step_s(*optimiser, device);
  times.encode_s = times.decode_s = device.time_of_pass_s(passes_of_a_code * gradient_bytes);
  profile.device["batch_size_per_worker"] = batch_size;
  return profile;
}

bool estimate(const Estimation& estimation, const EventSink& events) {
  const auto& [file, config] = estimation;
  const WorkerStatus worker_status;
  const Heartbeat heartbeat(worker_status, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    const std::int64_t batch_size =
        file.batch_size_per_worker.value_or(config.training.batch_size_per_worker);
    write_atomically(file.output, to_json(estimate_profile(config, file.device, batch_size)).dump(2) + "\n");
    events(event::Finished{});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
