// SPDX-License-Identifier: Apache-2.0
// Records the events of a run's workers as they arrive: in the record, in the run's files, in TensorBoard's and on the
// progress line. The network takes its share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/event.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/log.hh"
#include "harness/plan/run.hh"
#include "harness/reports/live_events.hh"
#include "harness/run/network/live_network.hh"
#include "harness/run/record_builder.hh"
#include "harness/run/restarts.hh"
#include "harness/run/worker_series.hh"
#include "harness/terminal/progress.hh"

namespace thinpipe {

class EventRecorder {
 public:
  struct Recipients {
    RecordBuilder& record;
    Restarts& restarts;
    Progress& progress;
    Log log;
    std::function<void(const std::string& line)>
        note;                               // prints a line about the run on the screen and in its log
    std::function<void()> training_begins;  // called once
  };

  // Starts iterations.jsonl in `folder`, the run's, and TensorBoard's `event_file` unless that path is empty. `run` must
  // outlive this.
  EventRecorder(const Run& run, std::filesystem::path folder, const std::filesystem::path& event_file,
                Recipients to);

  // The workers train over this network, which must outlive their events. `keeps_worker_times`: in workers.jsonl, if they
  // report them.
  void use(LiveNetwork& network, bool keeps_worker_times);

  // Takes the events of an earlier part of the run, which iterations.jsonl has already.
  void restore(const std::vector<Event>& events);

  // Takes an event. Throws InvalidEvent, or SystemError if a file cannot be written.
  void add(std::int64_t rank, const Event& event);

  // Takes the share of its cap that the busiest direction has used lately.
  void add_link_use(double share);

  // Training begins. Workers other than scripts let it begin by an event.
  void begin();
  // Training has begun with the workers, at a moment that nobody reported.
  void mark_begun() { began_ = true; }
  bool has_begun() const { return began_; }

  // The run has ended.
  void end(const Record& record);

 private:
  void take(std::int64_t rank, const event::Started& started);
  void take(std::int64_t rank, const event::Finished& finished);
  void take(std::int64_t rank, const event::WorkerTimes& times);
  // The other events are rank 0's.
  void take(std::int64_t rank, const auto& event);
  void take(const event::Dataset& dataset);
  void take(event::Resumed resumed);
  void take(event::IterationStarted started);
  void take(event::Iteration iteration);
  void take(event::Evaluation evaluation);
  void take(const event::Summary& summary);
  void take(const event::Replaying& replaying);
  void take(const event::ReplayedIteration& iteration);
  void take(const event::Replayed& replayed);
  void take(const auto& other);

  void restore(const Event& event);
  void go_on_after(std::int64_t iteration, std::int64_t valid_iteration, std::optional<double> train_time_s);
  void write_line(const Event& event) const;
  bool measures_time() const;

  const Run& run_;
  std::filesystem::path folder_;
  Recipients to_;
  FileDescriptor iterations_;
  std::optional<LiveEvents> live_events_;  // if they are wanted
  LiveNetwork* network_ = nullptr;         // none if the workers train over another one, or none
  bool keeps_worker_times_ = false;
  std::optional<WorkerSeries> worker_series_;  // if the trainer reports all workers' times
  bool began_ = false;                         // the first evaluation is over
};

}  // namespace thinpipe
