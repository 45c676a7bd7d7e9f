// Where a run's workers run. An executor starts them, passes on what they report, and says how they ended; it
// knows neither networks nor records.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/support/json_object.hh"
#include "harness/time_limits.hh"

namespace thinpipe {

struct WorkerCommand {
  std::int64_t rank = 0;
  std::string command;          // thinpipe-trainer's: "work", "pretrain" and so on
  std::filesystem::path input;  // its FILE
  std::filesystem::path log;    // where its standard error goes
  std::function<void()> before_exec =
      {};  // in the new process: enters the worker's host. May throw, may be empty
  std::filesystem::path program = {};  // in thinpipe-trainer's place; empty: thinpipe-trainer
};

struct Job {
  std::vector<WorkerCommand> workers;
  TimeLimits limits;
  std::chrono::milliseconds tick_period{100};
};

enum class WorkerAction { kill, pause, resume };

// What an observer may do to the workers of the job it observes.
class WorkerControl {
 public:
  WorkerControl() = default;
  virtual ~WorkerControl() = default;
  WorkerControl(const WorkerControl&) = delete;
  WorkerControl& operator=(const WorkerControl&) = delete;

  // Nothing befalls a worker that has ended.
  virtual void apply(WorkerAction action, std::int64_t rank) = 0;
};

// What the executor tells while workers run. What these throw ends the job and passes through execute().
struct JobObserver {
  std::function<void(std::int64_t rank, const Json& event)> event;
  // Every Job::tick_period; late: how long after it was due.
  std::function<void(WorkerControl& workers, Seconds late)> tick;
};

struct Failure {
  std::string kind;  // the trainer's own, or crash, hang, stall, protocol, start, harness
  std::optional<std::int64_t> rank = {};
  std::string message;
  std::string exit_status = {};                 // "exit code 1", "signal 9 (Killed)"; empty where none ended
  std::vector<std::string> log_tail = {};       // the rank's last lines
  std::vector<std::string> worker_states = {};  // what had become of each worker when the job was given up
};
Json to_json(const Failure& failure);

struct Outcome {
  enum class Status { completed, failed, interrupted };
  Status status = Status::completed;
  std::optional<Failure> failure = {};
};

class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Returns when every worker has ended well, when one has failed and the others are gone, or when a stop was
  // asked for. On return no worker lives.
  virtual Outcome execute(const Job& job, const JobObserver& observer) = 0;
};

}  // namespace thinpipe
