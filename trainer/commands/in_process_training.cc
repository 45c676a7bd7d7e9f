// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/in_process_training.hh"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "common/support/log.hh"
#include "trainer/base/process.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/worker.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {

bool train_in_process(const InProcessTraining& training, const EventSink& events,
                      const std::function<std::optional<std::int64_t>(int rank, TrainingLoop& loop)>& work,
                      const std::function<void(std::optional<std::int64_t> stopped_after)>& finish) {
  spdlog::set_default_logger(make_log_to_standard_error(training.file.log_level));
  WorkerStatus worker_status;
  const Heartbeat heartbeat(worker_status, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    std::optional<StopRequest> request;
    const Interruption interruption = interruption_of(training.file.interruption, request);
    std::optional<std::int64_t> stopped_after;  // rank 0's
    compute_on_one_thread();
    const std::unique_ptr<Dataset> dataset = make_dataset(training.config);
    events(describe_data(training.config, *dataset));
    const auto& path = training.file.initial_weights;
    const TensorMap weights = path ? load_tensors(*path) : TensorMap{};
    const auto work_as = [&](std::unique_ptr<Collective> member) {
      const int rank = member->rank();
      const EventSink rank_0_only = rank == 0 ? events : [](const Event&) {};
      TrainingLoop loop(training.config, *dataset, std::move(member), {}, rank_0_only,
                        rank == 0 ? &worker_status : nullptr);
      loop.admit_interruption(interruption);
      loop.start(weights);
      const auto stopped = work(rank, loop);
      if (rank == 0) stopped_after = stopped;
    };
    run_in_process(static_cast<int>(training.config.workers), training.file.reduction_tree, work_as);
    finish(stopped_after);
    if (stopped_after) {
      events(event::Interrupted{.iteration = *stopped_after});
    } else {
      events(event::Finished{});
    }
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
