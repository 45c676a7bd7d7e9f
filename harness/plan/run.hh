// SPDX-License-Identifier: Apache-2.0
// One run of an experiment: everything that decides its outcome.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/worker_file.hh"
#include "harness/experiment/experiment.hh"
#include "harness/plan/external_trainer.hh"
#include "harness/plan/failure_policy.hh"
#include "harness/plan/machine_options.hh"
#include "harness/plan/trainer_program.hh"
#include "harness/plan/worker_events.hh"
#include "harness/simulation/message_schedule.hh"
#include "netem/cross_traffic/cross_flow.hh"
#include "netem/topology/schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

// The collective of convergence runs, whatever their replays use: only the order of sums would differ.
// Workers without an emulated network use it on the loopback.
inline constexpr const char* collective_without_network = "gloo";

enum class Mode {
  live,      // trains with one process per worker over an emulated network, and measures times
  converge,  // trains with all workers in one process, without network and times
  replay,    // repeats a convergence run's communication over an emulated network, and measures times
  simulate,  // computes these times from a model of the network
  cluster,   // trains with one process per worker on machines of their own, over the real network
};

// The configuration of a run except the trainer's part. Runs that differ only in that part share it.
struct Setting {
  // Normalised: mode and workers; with a network also topology (resolved, caps applied) and bottleneck; for a
  // live run network_events, rate_trace, cross_traffic, worker_events and on_worker_failure if there are any; for a replay
  // or simulation compute_profile; for a simulation machine, if there is one; for a convergence run whose replays use
  // a tree, sum_tree.
  Json config;
  Json content = Json::object();  // see CheckedConfig::content
  netem::Topology topology;       // empty for a convergence run
};

struct Run {
  std::string id;
  Labels labels;
  std::string label;
  std::shared_ptr<const Setting> setting;
  std::shared_ptr<const CheckedConfig> training;  // runs that differ only in their setting share it

  // The GPU, data or weights that this machine lacks, at the places where the user asked for them.
  std::vector<InputError> missing = {};

  Mode mode = Mode::live;
  // Returns whether its workers train over a network, emulated or real, instead of repeating what others did.
  bool trains_in_real_time() const { return mode == Mode::live || mode == Mode::cluster; }
  netem::Schedule schedule;  // the network's changes during the run; places are in the user's file
  std::int64_t workers = 0;
  std::vector<netem::CrossFlow> cross_traffic;
  std::vector<WorkerEvent> worker_events;  // places are in the user's file
  FailurePolicy on_worker_failure;
  std::optional<std::filesystem::path> trainer = {};  // of a live run: an external trainer
  ExternalTrainer external_trainer = {};              // the external trainer, as the experiment describes it
  std::filesystem::path folder = {};                  // the experiment's, absolute
  std::filesystem::path written_folder = {};          // the same as the user named it, possibly relative
  std::vector<std::filesystem::path> inputs = {};     // of a command: the files that are part of its identity
  std::string convergence_run = {};                   // of a replay or simulation: id of the replayed run
  // Of a replay or simulation: a profile or a device; nullopt: measured here.
  std::optional<std::filesystem::path> profile = {};
  std::optional<std::int64_t> estimated_batch_size = {};  // per worker; nullopt: that of the training run
  // Of a simulation: the workers' machines, with the absolute path of a file of costs; nullopt: ideal workers.
  std::optional<MachineOptions> machine = {};
  bool leaves_trace = false;  // a convergence run whose replays need its trace

  // The plan decides the following once (harness/plan/checked_runs.hh); the size of buckets is a part of the
  // training's configuration.

  // Whether the run needs an emulated network: not on the loopback topology, and in a simulation only to
  // measure the compute time.
  bool needs_network = false;
  // The name of the collective that the workers use, never "auto". An external trainer's is unknown: a ring is
  // assumed.
  std::string collective = collective_without_network;
  // The parents of the workers in the reduction tree (netem/topology/reduction_tree.hh) of the collectives,
  // or of a convergence run's sums; empty if they use no tree.
  std::vector<int> reduction_tree = {};

  // Returns false if data or weights are missing: the id depends on their content.
  bool id_is_final() const;

  // Returns whether the run repeats a convergence run's communication.
  bool is_replay() const { return mode == Mode::replay || mode == Mode::simulate; }

  // Returns whether the workers run a training script, of which the plan knows nothing.
  bool runs_command() const { return external_trainer.is_command(); }

  // Returns whether something happens at times that count from the beginning of training.
  bool schedules_anything() const {
    return !schedule.empty() || !worker_events.empty() || !cross_traffic.empty();
  }

  // Returns the planned number of iterations; 0 if it is unknown.
  std::int64_t planned_iterations() const;

  // Returns how a replaying worker emulates compute. If the profile was measured on this machine, it keeps
  // the CPU as busy as the training run would.
  ComputeEmulation compute_emulation() const {
    return profile ? ComputeEmulation::sleep : ComputeEmulation::busy;
  }
};

// Returns the whole configuration: the setting's and the trainer's.
Json whole_config(const Run& run);

// Returns the part of the configuration that the id is a hash of; see run_id.hh.
Json decisive_part(const Run& run);

// Returns the trainer's configuration for the workers: with the collective that was decided, which an external
// trainer chooses itself.
Json worker_config(const Run& run);

// Returns how a simulation of the run routes its collectives.
CollectiveRouting routing_of(const Run& run);

// Returns the trainer's prediction, with the collective if there is a network; null if it could not be made.
Json described_plan(const Run& run);

}  // namespace thinpipe
