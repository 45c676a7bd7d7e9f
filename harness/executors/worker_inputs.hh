// SPDX-License-Identifier: Apache-2.0
// Writes the input files of a run's worker processes, in the run's folder, and returns the commands that read
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/worker_file.hh"
#include "harness/executors/executor.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "harness/records/interrupted_run.hh"
#include "netem/kernel/host.hh"
#include "netem/preload/preloaded.hh"

namespace thinpipe {

class WorkerInputs {
 public:
  // `run` must outlive this. Files go to `folder`.
  WorkerInputs(const Run& run, std::filesystem::path folder, std::string log_level)
      : run_(run),
        folder_(std::move(folder)),
        log_level_(std::move(log_level)),
        reduction_tree_(run.reduction_tree) {}

  // The folders in which workers find each other and keep checkpoints; they exist only during the run.
  std::filesystem::path rendezvous() const { return folder_ / "rendezvous"; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  // The folder of the checkpoint at which an interrupted run stopped, and the file by which its workers agree to stop.
  std::filesystem::path interruption() const { return folder_ / interrupted_folder_name; }
  std::filesystem::path stop_file() const { return folder_ / "stop"; }
  // The file for which workers wait before their first iteration.
  std::filesystem::path begin_file() const { return folder_ / "begin"; }

  // Sets the file of the weights from which training starts; by default they are random.
  void start_from(std::string weights) { initial_weights_ = std::move(weights); }
  const std::optional<std::string>& initial_weights() const { return initial_weights_; }
  // Workers wait for begin_file() before their first iteration; by default they begin at once.
  void let_workers_wait() { workers_wait_ = true; }
  // Every worker reports the times of its iterations; by default only rank 0 reports iterations.
  void let_workers_report_times() { workers_report_times_ = true; }
  // Workers stop with a checkpoint if they are asked to; by default SIGTERM ends them. Writes stop_file(), to be called
  // before each start of workers. `resume_after`: the iteration of the checkpoint from which they continue.
  void let_workers_save(std::optional<std::int64_t> resume_after);
  // Sets variables of the workers; by default those of every worker on this machine, netem::polling_environment().
  void use_environment(std::vector<std::pair<std::string, std::string>> environment) {
    environment_ = std::move(environment);
  }
  // Sets the reduction tree of the workers; by default it is the run's.
  void use_tree(std::vector<int> tree) { reduction_tree_ = std::move(tree); }
  // Sets ports of the first worker's address, where the workers meet; by default they meet in rendezvous().
  void meet_at(std::vector<std::string> addresses) { rendezvous_addresses_ = std::move(addresses); }

  // Each of these functions writes a worker's file and returns its command. `host` must outlive the command.
  //
  // The worker trains.
  WorkerCommand training(std::int64_t rank, const netem::Host& host) const;
  // The worker repeats the communication of a trace.
  WorkerCommand replaying(std::int64_t rank, const netem::Host& host, const std::filesystem::path& trace,
                          const std::filesystem::path& profile) const;
  // The worker measures its compute times for at most `longest`; rank 0 writes the profile to `output`.
  WorkerCommand profiling(std::int64_t rank, const netem::Host& host, Seconds longest,
                          const std::filesystem::path& output) const;
  // All workers train in one process.
  WorkerCommand converging() const;

 private:
  std::optional<std::string> begin_file_if_awaited() const;
  GroupOptions group_options(std::int64_t rank, const netem::Host& host) const;
  // Writes the worker's file. `host` must outlive the command.
  WorkerCommand at_host(std::int64_t rank, const netem::Host& host, const char* command,
                        const Json& file) const;

  const Run& run_;
  std::filesystem::path folder_;
  std::string log_level_;
  std::optional<std::string> initial_weights_;
  std::vector<int> reduction_tree_;
  std::vector<std::string> rendezvous_addresses_;
  std::vector<std::pair<std::string, std::string>> environment_ = netem::polling_environment();
  bool workers_wait_ = false;
  std::optional<InterruptionOptions> interruption_;
  bool workers_report_times_ = false;
};

}  // namespace thinpipe
