// A training whose steps were recorded by a convergence run and whose time comes from replaying them: what is
// known of it from the convergence run's record, with the times that the replay gives.
#pragma once

#include <filesystem>
#include <vector>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/schedule.hh"
#include "harness/plan/run.hh"
#include "harness/simulation/script.hh"

namespace thinpipe {

class ReplayedTraining {
 public:
  // `folder`: the convergence run's. Throws Error where it holds no complete run with its trace.
  explicit ReplayedTraining(const std::filesystem::path& folder);

  const std::filesystem::path& trace_path() const { return trace_path_; }

  // Iterations over a model of the network: the events that replaying workers would send, "iteration" and
  // "replayed". Throws InputError where the profile does not fit the training.
  std::vector<Json> simulate(const netem::Topology& topology, const ComputeProfile& profile,
                             const Ways& ways) const;

  // Takes the workers' "replayed" event.
  void hear(const Json& event);

  // Null before that.
  Json train_time_s() const;
  // The convergence run's, with train times.
  Json curve() const;
  // A field of the convergence run's record.
  const Json& at(const char* field) const { return record_.at(field); }
  // For the record: {"convergence_run", "classes"}.
  Json about() const;

 private:
  std::filesystem::path trace_path_;
  CommunicationTrace trace_;
  Json record_;
  Schedule schedule_;
  Json classes_ = nullptr;
  std::vector<double> class_times_s_;
};

}  // namespace thinpipe
