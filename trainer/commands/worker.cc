// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/worker.hh"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>
#include <unistd.h>

#include "common/protocol/full_disk.hh"
#include "common/support/log.hh"
#include "trainer/base/begin_file.hh"
#include "trainer/base/library_error.hh"
#include "trainer/base/process.hh"
#include "trainer/collectives/backends/gloo.hh"
#include "trainer/collectives/backends/nccl/nccl_group.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/commands/python_host.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

std::string_view kind_of(const std::exception& error) {
  if (dynamic_cast<const NonFiniteError*>(&error) != nullptr) return "non_finite";
  if (dynamic_cast<const DivergenceError*>(&error) != nullptr) return "divergence";
  if (dynamic_cast<const CollectiveError*>(&error) != nullptr) return "collective";
  if (dynamic_cast<const InputError*>(&error) != nullptr) return "input";
  return is_full_disk(error) ? full_disk_kind : "internal";
}

}  // namespace

Worker read_worker_file(const std::string& path) {
  auto file = load_worker_file<WorkFile>(path);
  if (file.method) {
    throw InputError(
        {path, "/method"},
        "is for external trainers; thinpipe-trainer's method is /config/synchroniser: remove it");
  }
  if (file.hook) {
    throw InputError({path, "/hook"},
                     "is for external trainers; thinpipe-trainer has no DistributedDataParallel: remove it");
  }
  auto config = parse_training_config(file.config, {path, "/config"});
  return {.file = std::move(file), .config = std::move(config)};
}

void report_failure(const EventSink& events, const std::exception& error) {
  spdlog::error("{}: {}", kind_of(error), error.what());
  events(event::Failed{.kind = std::string(kind_of(error)), .message = message_of(error)});
}

Interruption interruption_of(const std::optional<InterruptionOptions>& options,
                             std::optional<StopRequest>& request) {
  if (!options) return {};
  return {.request = &request.emplace(options->request),
          .directory = options->directory,
          .resume_after = options->resume_after};
}

bool work(const Worker& worker, const EventSink& events,
          const std::function<std::optional<std::int64_t>(TrainingLoop&)>& train) {
  const auto& [file, config] = worker;
  const int rank = file.group_options.rank;
  spdlog::set_default_logger(make_log_to_standard_error(file.log_level));
  spdlog::info("worker {} of {}, process {}, at {}", rank, file.group_options.world_size, ::getpid(),
               file.group_options.address);
  WorkerStatus worker_status;
  const Heartbeat heartbeat(worker_status, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    std::optional<StopRequest> request;
    const Interruption interruption = interruption_of(file.interruption, request);
    compute_on_one_thread();
    const std::unique_ptr<Dataset> dataset = make_dataset(config);
    spdlog::info("loaded the data set: {} training examples, {} test examples", dataset->train().size(),
                 dataset->test().size());
    const TensorMap weights = file.initial_weights ? load_tensors(*file.initial_weights) : TensorMap{};
    const EventSink rank_0_only = rank == 0 ? events : [](const Event&) {};
    if (rank == 0) events(describe_data(config, *dataset));
    auto network = CollectiveRegistry::instance().make(config.collective, kConfigurationPlace / "collective",
                                                       file.group_options);
    TrainingLoop loop(config, *dataset, std::move(network), file.checkpoint.value_or(CheckpointOptions{}),
                      rank_0_only, &worker_status, file.slowdowns);
    loop.admit_interruption(interruption);
    loop.start(weights);
    if (file.report_iteration_starts) loop.report_starts();
    TimesReport times(events);
    if (file.report_worker_times) loop.report_times(times);
    loop.begin_after([&file] { await_begin(file.begin_file); });
    spdlog::info("weights, mask and buckets are the same on all workers");
    // Only now, because the communication threads keep the priority with which they were started.
    lower_this_threads_priority();
    std::optional<std::int64_t> stopped_after;
    try {
      stopped_after = train(loop);
      times.flush();
    } catch (const std::exception& error) {
      times.flush();
      // Reports immediately, because the loop's destructor may wait for an exchange that is stuck.
      report_failure(events, error);
      return false;
    }
    if (stopped_after) {
      spdlog::info("stopped after iteration {}, as requested", *stopped_after);
      events(event::Interrupted{.iteration = *stopped_after});
      return true;
    }
    spdlog::info("finished");
    events(event::Finished{.peak_memory_bytes = peak_memory_bytes()});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

event::Dataset describe_data(const TrainingConfig& config, const Dataset& dataset) {
  event::Dataset out{.hash = content_hash(dataset)};
  if (const auto parts = divide_examples(config, dataset)) {
    for (const auto& part : *parts) out.examples_per_worker.push_back(std::ssize(part));
  }
  return out;
}

Json library_versions() {
  Json versions = {{"libtorch", TORCH_VERSION}, {"gloo", gloo_version()}, {"gloo_file", gloo_library_path()}};
  if (const auto nccl = nccl_version()) versions["nccl"] = *nccl;
  if (const auto& python = python_version()) versions["python"] = *python;
  return versions;
}

}  // namespace thinpipe::trainer
