// SPDX-License-Identifier: Apache-2.0
// A training run whose steps a convergence run has recorded, and whose times come from replaying them. The
// other results are those of the convergence run's record.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/event.hh"
#include "common/protocol/schedule.hh"
#include "harness/plan/run.hh"
#include "harness/records/record_data.hh"
#include "harness/simulation/machine_model.hh"
#include "harness/simulation/message_schedule.hh"

namespace thinpipe {

class ReplayedTraining {
 public:
  // `folder`: the convergence run's. Throws Error unless it has a completed run with its trace.
  explicit ReplayedTraining(const std::filesystem::path& folder);

  const std::filesystem::path& trace_path() const { return trace_path_; }

  // Simulates iterations over a model of the network and, if given, of the workers' machines. Returns the events that
  // replaying workers would send: ReplayedIteration and, at the end, Replayed. Throws InputError if the profile does
  // not fit the trace.
  std::vector<Event> simulate(const netem::Topology& topology, const ComputeProfile& profile,
                              const CollectiveRouting& routing,
                              const std::optional<MachineModel>& machine = {}) const;

  // Takes the workers' last event. Throws Error if its classes are not the trace's.
  void on_event(const event::Replayed& replayed);

  // Returns nullopt before that event.
  std::optional<double> train_time_s() const;
  // Returns the convergence run's curve with train times; empty before that event.
  std::vector<record::CurvePoint> curve() const;
  // Returns the convergence run's record.
  const Record& convergence_run() const { return record_; }
  // Returns the record's part about the replay, without the compute profile and its emulation.
  record::Replay about() const;

 private:
  std::filesystem::path trace_path_;
  CommunicationTrace trace_;
  Record record_;
  Schedule schedule_;
  std::optional<event::Replayed> replayed_;
  std::vector<double> class_times_s_;
};

}  // namespace thinpipe
