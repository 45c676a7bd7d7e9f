// SPDX-License-Identifier: Apache-2.0
// The files that tell the trainer's processes what to do: `thinpipe-trainer COMMAND FILE`. The controller
// writes them, the trainer reads them, and external trainers read WorkFile (docs/reference/trainers.md). Each struct
// describes its members once, for both directions.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/device.hh"
#include "common/protocol/group_options.hh"
#include "common/support/log.hh"
#include "common/support/options.hh"

namespace thinpipe {

inline constexpr int worker_file_schema_version = 2;

struct CheckpointOptions {
  std::string directory;  // empty: no checkpoints
  std::int64_t every_iterations = 0;

  bool operator==(const CheckpointOptions&) const = default;

  void visit(auto& field) {
    field("directory", directory, Rule{.effect = "folder that all workers share", .required = true});
    field("every_iterations", every_iterations,
          Rule{.effect = "iterations between checkpoints", .at_least = 1, .required = true});
  }
};

// How training stops early, so that another process can continue it.
struct InterruptionOptions {
  std::string request;                            // path; see StopRequest
  std::string directory;                          // of checkpoints at which training stopped
  std::optional<std::int64_t> resume_after = {};  // the iteration of the checkpoint to continue from

  bool operator==(const InterruptionOptions&) const = default;

  void visit(auto& field) {
    field("request", request,
          Rule{.effect =
                   "file of 16 zero bytes that all workers map, by which they agree on the last iteration",
               .required = true});
    field("directory", directory,
          Rule{.effect = "folder of the checkpoint, shared by all workers", .required = true});
    field(
        "resume_after", resume_after,
        Rule{
            .effect =
                "iteration of the checkpoint in that folder to continue from; null: start from the beginning",
            .at_least = 1});
  }
};

struct Slowdown {
  std::int64_t at_iteration = 0;  // begins after that many iterations
  double factor = 1;              // factor on the time of compute

  bool operator==(const Slowdown&) const = default;

  void visit(auto& field) {
    field("at_iteration", at_iteration,
          Rule{.effect = "begins after that many iterations", .at_least = 0, .required = true});
    field("factor", factor, Rule{.effect = "factor on compute time", .at_least = 1, .required = true});
  }
};

// How a worker of a replay spends the time that training would spend on compute.
enum class ComputeEmulation {
  // It sleeps, as if each worker had a device of its own.
  sleep,
  // It keeps a CPU core and its caches busy, so that workers compete for them as in a training run.
  busy
};

void to_json(Json& out, ComputeEmulation compute_emulation);
void read_value(const Json& value, const Place& place, const Rule& rule, ComputeEmulation& out);

namespace detail {

// Visits the members that every file for training has.
void visit_training(auto& field, std::string& log_level, std::optional<std::string>& initial_weights,
                    Json& config) {
  field("log_level", log_level, Rule{.effect = "of the worker's log", .one_of = log_levels()});
  field("initial_weights", initial_weights,
        Rule{.effect = "PyTorch state dict or safetensors file to start from; null: random weights"});
  field("config", config, Rule{.effect = "training configuration", .required = true});
}

void visit_begin_file(auto& field, std::optional<std::string>& path) {
  field(
      "begin_file", path,
      Rule{.effect = "file that appears when the network is metered: wait for it before the first iteration; "
                     "null: begin at once"});
}

void visit_interruption(auto& field, std::optional<InterruptionOptions>& options) {
  field("interruption", options,
        Rule{.effect = "how training stops with a checkpoint; missing: it does not"});
}

void visit_report_worker_times(auto& field, bool& wanted) {
  field("report_worker_times", wanted, Rule{.effect = "every worker reports its iterations' times"});
}

}  // namespace detail

// `work`: one worker of a live run.
struct WorkFile {
  GroupOptions group_options = {};
  std::string log_level = "info";
  std::optional<std::string> initial_weights = {};  // path
  std::optional<CheckpointOptions> checkpoint = {};
  std::optional<InterruptionOptions> interruption = {};  // nullopt: SIGTERM ends the worker
  std::optional<std::string> begin_file = {};            // path: the worker waits for it before it trains
  std::vector<Slowdown> slowdowns = {};                  // this worker's, by iteration
  bool report_iteration_starts = false;                  // for a rate trace that follows train time
  bool report_worker_times = false;                      // this worker's, whatever its rank
  std::optional<std::string> method = {};                // of an external trainer
  std::optional<Json> hook = {};  // of an external trainer: {"name": "/folder/mine.py:hook", options…}
  Json config = {};               // the training configuration, described by the trainer

  bool operator==(const WorkFile&) const = default;

  void visit(auto& field) {
    group_options.visit(field);
    detail::visit_training(field, log_level, initial_weights, config);
    field("checkpoint", checkpoint, Rule{.effect = "null: no checkpoints"});
    detail::visit_interruption(field, interruption);
    detail::visit_begin_file(field, begin_file);
    field("slowdowns", slowdowns, Rule{.effect = "changes of this worker's pace"});
    field("report_iteration_starts", report_iteration_starts,
          Rule{.effect = "rank 0 reports when each iteration starts"});
    detail::visit_report_worker_times(field, report_worker_times);
    field("method", method, Rule{.effect = "name of an external trainer's method"});
    field("hook", hook, Rule{.effect = "the communication hook that an external trainer registers"});
  }
};

// `profile`: one of the workers that measure a compute profile together.
struct ProfileFile {
  GroupOptions group_options = {};
  std::string log_level = "info";
  std::optional<std::string> initial_weights = {};  // path
  double max_s = 0;  // upper bound on the measurement; it ends earlier if the mean is known well enough
  std::string output = {};  // path; rank 0 writes it
  Json config = {};

  bool operator==(const ProfileFile&) const = default;

  void visit(auto& field) {
    group_options.visit(field);
    detail::visit_training(field, log_level, initial_weights, config);
    field("max_time_s", max_s,
          Rule{.effect = "upper bound on the measurement", .above = 0, .required = true});
    field("output", output, Rule{.effect = "file of the profile, which rank 0 writes", .required = true});
  }
};

// `replay`: one worker of a replay.
struct ReplayFile {
  GroupOptions group_options = {};
  std::string log_level = "info";
  std::string communication_trace = {};  // path
  std::string compute_profile = {};      // path
  ComputeEmulation compute_emulation = ComputeEmulation::sleep;
  std::optional<std::string> begin_file = {};  // path: the worker waits for it before it trains
  bool report_worker_times = false;            // this worker's, whatever its rank
  Json collective = {};                        // {"name": …, options…}

  bool operator==(const ReplayFile&) const = default;

  void visit(auto& field) {
    group_options.visit(field);
    field("log_level", log_level, Rule{.effect = "of the worker's log", .one_of = log_levels()});
    field("communication_trace", communication_trace,
          Rule{.effect = "file of the calls to repeat", .required = true});
    field("compute_profile", compute_profile,
          Rule{.effect = "file of the times between them", .required = true});
    field("compute_emulation", compute_emulation,
          Rule{.effect = "sleep: idle for the time of compute; busy: keep a CPU core busy",
               .one_of = {"sleep", "busy"},
               .required = true});
    detail::visit_begin_file(field, begin_file);
    detail::visit_report_worker_times(field, report_worker_times);
    field("collective", collective, Rule{.effect = "the collective to call", .required = true});
  }
};

// `converge`: all workers of a convergence run, in one process.
struct ConvergeFile {
  std::string log_level = "info";
  std::optional<std::string> initial_weights = {};      // path
  std::optional<std::string> communication_trace = {};  // path to write
  std::vector<int> reduction_tree = {};  // of the reduction tree, see GroupOptions; empty: sums in rank order
  std::optional<InterruptionOptions> interruption = {};  // as in WorkFile
  Json config = {};

  bool operator==(const ConvergeFile&) const = default;

  void visit(auto& field) {
    detail::visit_training(field, log_level, initial_weights, config);
    field("communication_trace", communication_trace,
          Rule{.effect = "file to record the collective calls in; null: none"});
    field("reduction_tree", reduction_tree,
          Rule{.effect = "reduction tree: each worker's parent, -1 for the root; empty: sums in rank order"});
    detail::visit_interruption(field, interruption);
  }
};

// `measure`: one of the workers that measure the real network between them.
struct MeasureFile {
  int rank = 0;
  int world_size = 1;
  std::string rendezvous_directory = {};               // an empty directory that all workers share
  std::vector<std::string> rendezvous_addresses = {};  // as in GroupOptions
  std::string log_level = "info";
  std::string network_interface = {};
  double max_s = 0;

  bool operator==(const MeasureFile&) const = default;

  void visit(auto& field) {
    field("rank", rank, Rule{.effect = "this worker's rank", .at_least = 0, .required = true});
    field("world_size", world_size,
          Rule{.effect = "number of workers", .above = static_cast<double>(rank), .required = true});
    field("rendezvous_directory", rendezvous_directory,
          Rule{.effect = "folder that all workers share, empty at the start", .required = true});
    field("rendezvous_addresses", rendezvous_addresses,
          Rule{.effect = "ports of the first worker's address where workers meet; empty: in the folder"});
    field("log_level", log_level, Rule{.effect = "of the worker's log", .one_of = log_levels()});
    field("network_interface", network_interface,
          Rule{.effect = "name of the network interface, or an IPv4 subnet; empty: the only one"});
    field("max_time_s", max_s,
          Rule{.effect = "about how long the measurement may take", .above = 0, .required = true});
  }
};

// `pretrain`: the initial weights that all runs of an experiment share.
struct PretrainFile {
  std::string output = {};  // path
  Json config = {};

  bool operator==(const PretrainFile&) const = default;

  void visit(auto& field) {
    field("output", output, Rule{.effect = "file of the weights", .required = true});
    field("config", config, Rule{.effect = "training configuration", .required = true});
  }
};

// `estimate`: a compute profile for a device that this machine does not have.
struct EstimateFile {
  Device device = {};
  std::optional<std::int64_t> batch_size_per_worker = {};  // for compute only; nullopt: that of `config`
  std::string output = {};                                 // path
  Json config = {};

  bool operator==(const EstimateFile&) const = default;

  void visit(auto& field) {
    field("device", device, Rule{.effect = "the device", .required = true});
    field("batch_size_per_worker", batch_size_per_worker,
          Rule{.effect = "examples per worker and step; null: as configured", .at_least = 1});
    field("output", output, Rule{.effect = "file of the profile", .required = true});
    field("config", config, Rule{.effect = "training configuration", .required = true});
  }
};

template <class File>
concept WorkerFile = std::same_as<File, WorkFile> || std::same_as<File, ProfileFile> ||
    std::same_as<File, ReplayFile> || std::same_as<File, ConvergeFile> || std::same_as<File, PretrainFile> ||
    std::same_as<File, EstimateFile> || std::same_as<File, MeasureFile>;

template <WorkerFile File>
Json to_json(const File& file);

// Strict. Throws InputError naming `path`, the member, the rule and the remedy. The reader of `config` checks
// its members.
template <WorkerFile File>
File parse_worker_file(const Json& value, const std::string& path);

template <WorkerFile File>
File load_worker_file(const std::string& path) {
  return parse_worker_file<File>(parse_json_file(path), path);
}

}  // namespace thinpipe
