// SPDX-License-Identifier: Apache-2.0
// Turns the reports and the output of a training script's rank 0 into the events of a worker. Pure.
//
// A report has the time of its CLOCK_MONOTONIC, a line that of its arrival. Train time counts from the last report of
// iteration 0 or, if there is none, from the start of the workers. A script may report its own train time instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/event.hh"
#include "common/protocol/script_report.hh"
#include "harness/experiment/number_pattern.hh"
#include "harness/plan/external_trainer.hh"

namespace thinpipe {

class ScriptProgress {
 public:
  explicit ScriptProgress(const CurvePatterns& patterns);

  // Call it when the workers start. now_s: the present moment of the monotonic clock.
  void start(double now_s) { began_s_ = last_report_s_ = now_s; }

  // Return the events that a report or a line of output leads to: an iteration, an evaluation, both or none. now_s:
  // the present moment of the monotonic clock. A line is an evaluation if the pattern of the test accuracy matches
  // or, without that pattern, the one of the test loss; it has the latest values of the other patterns. Throw
  // InvalidEvent.
  std::vector<Event> take_report(std::string_view text, double now_s);
  std::vector<Event> take_line(std::string_view line, double now_s);

  // Returns the event of the payload that was reported after the last iteration, if any.
  std::vector<Event> finish();

  // Returns the time since training began.
  double elapsed_s(double now_s) const { return now_s - began_s_; }

  // Returns whether a report or a line had an iteration, ...
  bool has_reported() const { return has_reported_; }
  // ... and whether the first one was of iteration 0.
  bool reported_its_start() const { return reported_its_start_; }
  std::int64_t iteration() const { return iteration_; }
  bool has_curve() const { return has_curve_; }
  std::int64_t payload_bytes() const { return payload_bytes_; }
  // Returns the versions of libraries that the script reported; null if it did not.
  const Json& libraries() const { return libraries_; }
  // Returns the keys of the patterns that no line has matched.
  std::vector<std::string> unmatched_patterns() const;

 private:
  struct Pattern {
    const char* key;
    std::optional<NumberPattern> pattern = {};
    bool has_matched = false;

    std::optional<double> find(std::string_view line);
  };

  std::vector<Event> take(const ScriptReport& report, double now_s);
  double train_time_s(const ScriptReport& report, double now_s);
  event::Iteration iteration_event(std::int64_t iteration, double train_time_s);

  Pattern iteration_pattern_{"iteration"};
  Pattern epoch_pattern_{"epoch"};
  Pattern train_loss_pattern_{"train_loss"};
  Pattern test_loss_pattern_{"test_loss"};
  Pattern test_accuracy_pattern_{"test_accuracy"};
  std::optional<std::int64_t> new_payload_bytes();

  std::optional<double> printed_test_loss_;  // not yet part of an evaluation

  std::optional<double> epoch_;  // the latest
  std::optional<double> train_loss_;
  std::int64_t iteration_ = 0;  // the last one
  double last_train_time_s_ = 0;
  double began_s_ = 0;
  double last_report_s_ = 0;
  bool has_reported_ = false;
  bool reported_its_start_ = false;
  bool has_curve_ = false;
  std::optional<bool> has_own_clock_;  // nullopt before the first iteration
  std::int64_t payload_bytes_ = 0;
  std::int64_t passed_on_bytes_ = 0;  // of these, in events
  Json libraries_ = nullptr;
};

}  // namespace thinpipe
