// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/worker_inputs.hh"

#include <fmt/format.h>

#include "common/protocol/trace.hh"
#include "harness/plan/worker_events.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

std::optional<Json> hook_of(const Run& run) {
  const auto& hook = run.external_trainer.hook;
  return hook ? std::optional(to_json(*hook)) : std::nullopt;
}

}  // namespace

WorkerCommand WorkerInputs::training(std::int64_t rank, const netem::Host& host) const {
  WorkFile file{.group_options = group_options(rank, host),
                .log_level = log_level_,
                .initial_weights = initial_weights_,
                .interruption = interruption_,
                .begin_file = begin_file_if_awaited(),
                .slowdowns = slowdowns_of(run_.worker_events, rank),
                .report_iteration_starts = run_.schedule.follows_train_time(),
                .report_worker_times = workers_report_times_,
                .method = run_.external_trainer.method,
                .hook = hook_of(run_),
                .config = worker_config(run_)};
  if (run_.on_worker_failure.restarts()) {
    file.checkpoint =
        CheckpointOptions{.directory = checkpoints().string(),
                          .every_iterations = run_.on_worker_failure.checkpoint_every_iterations};
  }
  WorkerCommand command = at_host(rank, host, "work", to_json(file));
  command.program = run_.trainer.value_or(fs::path());
  command.needs_python = run_.trainer && !run_.external_trainer.is_own();
  return command;
}

WorkerCommand WorkerInputs::replaying(std::int64_t rank, const netem::Host& host, const fs::path& trace,
                                      const fs::path& profile) const {
  return at_host(rank, host, "replay",
                 to_json(ReplayFile{.group_options = group_options(rank, host),
                                    .log_level = log_level_,
                                    .communication_trace = trace.string(),
                                    .compute_profile = profile.string(),
                                    .compute_emulation = run_.compute_emulation(),
                                    .begin_file = begin_file_if_awaited(),
                                    .report_worker_times = workers_report_times_,
                                    .collective = worker_config(run_).at("collective")}));
}

WorkerCommand WorkerInputs::profiling(std::int64_t rank, const netem::Host& host, Seconds longest,
                                      const fs::path& output) const {
  return at_host(rank, host, "profile",
                 to_json(ProfileFile{.group_options = group_options(rank, host),
                                     .log_level = log_level_,
                                     .initial_weights = initial_weights_,
                                     .max_s = longest.count(),
                                     .output = output.string(),
                                     .config = worker_config(run_)}));
}

WorkerCommand WorkerInputs::converging() const {
  const fs::path input = folder_ / "converge.json";
  write_atomically(
      input, record_text(to_json(ConvergeFile{.log_level = log_level_,
                                              .initial_weights = initial_weights_,
                                              .communication_trace = (folder_ / trace_file_name).string(),
                                              .reduction_tree = reduction_tree_,
                                              .interruption = interruption_,
                                              .config = run_.training->config})));
  return {.rank = 0, .command = "converge", .input = input, .log = folder_ / "workers.log"};
}

void WorkerInputs::let_workers_save(std::optional<std::int64_t> resume_after) {
  constexpr std::size_t stop_file_bytes = 16;  // see InterruptionOptions
  fs::create_directories(interruption());
  write_atomically(stop_file(), std::string(stop_file_bytes, '\0'));
  interruption_ = {.request = stop_file(), .directory = interruption(), .resume_after = resume_after};
}

std::optional<std::string> WorkerInputs::begin_file_if_awaited() const {
  return workers_wait_ ? std::optional(begin_file().string()) : std::nullopt;
}

GroupOptions WorkerInputs::group_options(std::int64_t rank, const netem::Host& host) const {
  return {.rank = static_cast<int>(rank),
          .world_size = static_cast<int>(run_.workers),
          .address = host.address,
          .rendezvous_directory = rendezvous().string(),
          .rendezvous_addresses = rendezvous_addresses_,
          .reduction_tree = reduction_tree_};
}

WorkerCommand WorkerInputs::at_host(std::int64_t rank, const netem::Host& host, const char* command,
                                    const Json& file) const {
  const fs::path input = folder_ / fmt::format("worker-{}.json", rank);
  write_atomically(input, record_text(file));
  return {.rank = rank,
          .command = command,
          .input = input,
          .log = folder_ / fmt::format("worker-{}.log", rank),
          .before_exec = [&host] { host.enter(); },
          .environment = environment_};
}

}  // namespace thinpipe
