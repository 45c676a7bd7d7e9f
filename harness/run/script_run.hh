// SPDX-License-Identifier: Apache-2.0
// Follows the script that a run's workers execute in place of the trainer: what its rank 0 reports and prints becomes
// events of the run.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/event.hh"
#include "harness/executors/executor.hh"
#include "harness/executors/script_command.hh"
#include "harness/plan/run.hh"
#include "harness/run/event_recorder.hh"
#include "harness/run/record_builder.hh"
#include "harness/run/script/script_progress.hh"

namespace thinpipe {

class ScriptRun {
 public:
  // Both must outlive this.
  ScriptRun(const Run& run, RecordBuilder& record)
      : run_(run), record_(record), progress_(run.external_trainer.curve) {}

  // The workers of an attempt start, and meet there. now_s: the present moment of the monotonic clock, as below.
  void start(Meeting meeting, double now_s);
  const Meeting& meeting() const { return meeting_; }

  // Take a line of rank 0's output, or a report of it. Throw InvalidEvent.
  void take_line(const std::string& line, double now_s, EventRecorder& recorder);
  void take_report(const std::string& line, double now_s, EventRecorder& recorder);

  // All workers have ended. Returns the outcome, or the failure that the script never reported when training began
  // although something was to happen at a time after that.
  Outcome end(Outcome outcome, double now_s, EventRecorder& recorder);

  const ScriptProgress& progress() const { return progress_; }

 private:
  void take(const std::vector<Event>& events, EventRecorder& recorder);
  void begin(EventRecorder& recorder) const;

  const Run& run_;
  RecordBuilder& record_;
  ScriptProgress progress_;
  Meeting meeting_;  // of the latest attempt
};

}  // namespace thinpipe
