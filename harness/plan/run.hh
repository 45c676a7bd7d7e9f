// One run of an experiment: everything that decides its outcome.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/experiment/experiment.hh"
#include "harness/plan/failure_policy.hh"
#include "harness/plan/other_trainer.hh"
#include "harness/plan/trainer_program.hh"
#include "harness/plan/worker_events.hh"
#include "netem/topology/schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

// The collective of a convergence run, whatever its replays go over: only the order of their sums tells them
// apart. Workers without an emulated network go over it, on the loopback.
inline constexpr const char* collective_without_network = "gloo";

enum class Mode {
  live,      // a process for each worker, over an emulated network, by the clock
  converge,  // all workers in one process, without a network and without times
  replay,    // a convergence run's communication over an emulated network, by the clock
  simulate,  // the same over a model of the network, by arithmetic
};

// Everything about a run except the training itself. Runs that differ only in their training share it.
struct Setting {
  // Normalised: mode and workers; with a network also topology (resolved, caps applied) and bottleneck; for a live run
  // network_events, rate_trace, worker_events and on_worker_failure if there are any; for a replay or simulation
  // compute_profile; for a convergence run whose replays use a tree, sum_tree.
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
  netem::Schedule schedule;  // what changes during the run; places are the user's
  std::int64_t workers = 0;
  std::vector<WorkerEvent> worker_events;  // places are the user's
  FailurePolicy on_worker_failure;
  std::optional<std::filesystem::path> trainer = {};      // of a live run: in thinpipe-trainer's place
  OtherTrainer other_trainer = {};                        // that one, as the experiment describes it
  std::string convergence_run = {};                       // of a replay or simulation: the run that it is of
  std::optional<std::filesystem::path> profile = {};      // likewise, or a device's; nothing: measured here
  std::optional<std::int64_t> estimated_batch_size = {};  // per worker; nothing: the training's
  std::vector<int> sum_tree = {};  // of a convergence run: the tree of its replays' workers
  bool leaves_trace = false;       // a convergence run for a replay: no use without its trace

  // Returns the whole configuration: the setting's and the trainer's.
  Json config() const;

  // Returns the part of the configuration that the id is a hash of; see decisive_part().
  Json decisive() const;

  // Returns the trainer's prediction, with collective() if there is a network; null if it could not be made.
  Json plan() const;

  // Returns false if data or weights are missing: the id depends on their content.
  bool id_is_final() const;

  // Of a convergence run's communication.
  bool is_replay() const { return mode == Mode::replay || mode == Mode::simulate; }

  // What a replaying worker does where the training computes (trainer/replay/computing.hh): it keeps this
  // machine as busy as the training would where the profile is this machine's.
  const char* computing() const { return profile ? "waits" : "works"; }

  // The collective's name; of "auto" the one that it stands for on this topology; of another trainer, whose
  // way nobody told, a ring.
  std::string collective() const;

  // The parents of its workers in the tree that its collectives go along (netem/topology/worker_tree.hh), or
  // of a convergence run its sums; empty: they go along none.
  std::vector<int> tree() const;

  // False without an emulated network, or where the topology is the loopback: no namespaces, no caps. A
  // simulation needs it where what computing takes is measured.
  bool needs_network() const;
};

}  // namespace thinpipe
