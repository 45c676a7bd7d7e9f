// SPDX-License-Identifier: Apache-2.0
// Starts a run's workers, forwards the events they report, and returns how they ended. An executor depends on
// neither networks nor records.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/event.hh"
#include "common/protocol/failure.hh"
#include "common/protocol/worker_action.hh"
#include "common/support/json_object.hh"
#include "harness/executors/time_limits.hh"

namespace thinpipe {

// A training script in the place of a worker program: it prints whatever it likes and ends when it is done.
struct ScriptCommand {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path working_directory;
  std::filesystem::path reports;  // the named pipe that it may report through (report_pipe.hh)
};

struct WorkerCommand {
  std::int64_t rank = 0;
  std::string command;          // of thinpipe-trainer: "work", "pretrain" and so on
  std::filesystem::path input;  // the command's FILE
  std::filesystem::path log;    // receives standard error
  // Runs in the new process and enters the worker's host. May throw; may be empty.
  std::function<void()> before_exec = {};
  std::filesystem::path program = {};  // runs instead of thinpipe-trainer, unless empty
  bool needs_python = false;           // thinpipe-trainer starts the program, in its Python
  // Runs instead of a worker program, so that `command` and `input` have no meaning. The log receives its
  // output and errors.
  std::optional<ScriptCommand> script = {};
  // What the command line begins with, to start the worker on another machine (allocation.hh).
  std::vector<std::string> launcher = {};
  // Added to this process's own environment. A script has its own.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

struct Job {
  std::vector<WorkerCommand> workers;
  TimeLimits limits;
  std::chrono::milliseconds tick_period{100};
  // Whether the workers answer SIGTERM with a checkpoint: a stop then waits for it, for a limited time.
  bool saves_on_stop = false;
};

// Lets an observer act on the workers of its job.
class WorkerControl {
 public:
  WorkerControl() = default;
  virtual ~WorkerControl() = default;
  WorkerControl(const WorkerControl&) = delete;
  WorkerControl& operator=(const WorkerControl&) = delete;

  // Does nothing if the worker has ended.
  virtual void apply(WorkerAction action, std::int64_t rank) = 0;
};

// Callbacks while workers run. `output` and `report` may be empty if no worker is a script. An exception from a
// callback ends the job and propagates through execute().
struct JobObserver {
  std::function<void(std::int64_t rank, const Event& event)> event;
  // A line of a script's output, and a line that it reported. Either may throw InvalidEvent.
  std::function<void(std::int64_t rank, const std::string& line)> output = {};
  std::function<void(std::int64_t rank, const std::string& line)> report = {};
  // Called every Job::tick_period, `late` after it was due.
  std::function<void(WorkerControl& workers, Seconds late)> tick;
  // Called when the workers have been asked to stop with a checkpoint. May be empty.
  std::function<void()> stopping = {};
};

struct Outcome {
  enum class Status { completed, failed, interrupted };
  Status status = Status::completed;
  // Why a job failed, or why an interrupted one has no checkpoint although it was asked for one.
  std::optional<Failure> failure = {};
  // Of an interrupted job: the iteration after which all workers have stopped, with a checkpoint.
  std::optional<std::int64_t> saved_after = {};
};

class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Blocks until all workers have finished, one has failed, or a stop is requested. No worker is alive
  // afterwards.
  virtual Outcome execute(const Job& job, const JobObserver& observer) = 0;
};

}  // namespace thinpipe
