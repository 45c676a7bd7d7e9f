// SPDX-License-Identifier: Apache-2.0
// Builds a run's record from its workers' events and from the harness's own reports. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/protocol/event.hh"
#include "harness/artifacts/initial_weights.hh"
#include "harness/artifacts/measured_machines.hh"
#include "harness/executors/executor.hh"
#include "harness/plan/run.hh"
#include "harness/records/record_data.hh"
#include "harness/run/measurements.hh"
#include "harness/run/network/network_report.hh"
#include "harness/run/replayed_training.hh"

namespace thinpipe {

// Returns the record's "status".
const char* name_of(Outcome::Status status);

class RecordBuilder {
 public:
  // `run` must outlive this. `provenance`: see provenance.hh.
  RecordBuilder(const Run& run, std::string experiment, const TimeLimits& limits, Json provenance);

  void set_provenance(const char* key, Json value) { provenance_[key] = std::move(value); }
  const Json& provenance() const { return provenance_; }
  void set_initial_weights(const SharedWeights& weights);
  const std::optional<record::InitialWeights>& initial_weights() const { return initial_weights_; }
  // The run repeats this training run, with the times of this compute profile.
  void set_replayed(ReplayedTraining replayed) { replayed_ = std::move(replayed); }
  // `about`: as in the record.
  void set_compute_profile(const Json& about, ComputeProfile profile);
  void set_machine(const SharedMachine& machine);

  void add(std::int64_t rank, const event::Finished& finished);
  // The other events are rank 0's, with the run's train times.
  void add(const event::Started& started) { set_provenance("libraries", started.libraries); }
  // Throws Error if the data are not those that the run was planned with.
  void add(const event::Dataset& dataset);
  void add(const event::Iteration& iteration) { measurements_.add(iteration); }
  void add(const event::ReplayedIteration& iteration) { measurements_.add(iteration); }
  void add(const event::Evaluation& evaluation) { measurements_.add(evaluation); }
  // Throws InvalidEvent unless the parts that the record takes over are as it has them.
  void add(const event::Summary& summary);
  // Throws InvalidEvent if the run is not a replay, and as ReplayedTraining::on_event() does.
  void add(const event::Replayed& replayed);

  // Adds a change of the network (LiveNetwork::tick()) with the iteration and train time that it follows.
  // Returns it.
  const Json& add_change(Json change);

  // See Measurements::set_train_time().
  void set_train_time(double train_time_s) { measurements_.set_train_time(train_time_s); }

  // Adds a warning about the run's results.
  void warn(const std::string& warning) { warnings_.push_back(warning); }

  // See Measurements::go_back_to().
  void go_back_to(std::int64_t iteration) { measurements_.go_back_to(iteration); }

  const Measurements& measurements() const { return measurements_; }
  // Returns nullopt unless the run is a replay.
  const std::optional<ReplayedTraining>& replayed() const { return replayed_; }

  // Returns the record. `worker_events` and `restarts` are members of it.
  Record build(const Outcome& outcome, const NetworkReport& network,
               std::vector<record::WorkerEvent> worker_events, std::vector<record::Restart> restarts) const;

 private:
  void add_setting(Record& record) const;
  void add_set_up(Record& record) const;
  void add_training(Record& record) const;
  void add_replay(Record& record) const;
  void add_network(Record& record, const NetworkReport& network) const;

  const Run& run_;
  std::string experiment_;
  TimeLimits limits_;
  Json provenance_;
  std::optional<record::InitialWeights> initial_weights_;
  std::optional<ReplayedTraining> replayed_;
  std::optional<double> pretraining_s_;              // as measured
  std::optional<double> pruning_s_;                  // likewise
  std::optional<record::ComputeProfile> profile_;    // of a replay
  std::optional<ComputeProfile> compute_times_;      // of that profile
  std::optional<record::SimulatedMachine> machine_;  // of a simulation
  Measurements measurements_;
  event::Summary summary_;
  std::optional<record::Pruning> pruning_;
  record::Memory memory_;         // nullopt for a worker that has not finished
  Json changes_ = Json::array();  // of the network
  std::vector<std::string> warnings_;
};

}  // namespace thinpipe
