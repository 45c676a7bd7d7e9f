// SPDX-License-Identifier: Apache-2.0
#include "harness/run/script/script_progress.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr double max_count = 0x1p53;

std::optional<NumberPattern> compile(const std::optional<std::string>& pattern) {
  if (!pattern) return std::nullopt;
  return NumberPattern(*pattern, {"", "/trainer/curve"});
}

std::int64_t whole(double number, const char* key) {
  if (number != std::floor(number) || number < 0 || number > max_count)
    throw InvalidEvent(
        fmt::format("printed {:g}, which curve.{} matches, but it must be a whole number", number, key));
  return static_cast<std::int64_t>(number);
}

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

ScriptProgress::ScriptProgress(const CurvePatterns& patterns) {
  iteration_pattern_.pattern = compile(patterns.iteration);
  epoch_pattern_.pattern = compile(patterns.epoch);
  train_loss_pattern_.pattern = compile(patterns.train_loss);
  test_loss_pattern_.pattern = compile(patterns.test_loss);
  test_accuracy_pattern_.pattern = compile(patterns.test_accuracy);
}

std::optional<double> ScriptProgress::Pattern::find(std::string_view line) {
  if (!pattern) return std::nullopt;
  try {
    const std::optional<double> number = pattern->find(line);
    has_matched = has_matched || number;
    return number;
  } catch (const Error& error) {
    throw InvalidEvent(fmt::format("printed a line that curve.{} matches, but {}", key, error.what()));
  }
}

std::vector<Event> ScriptProgress::take_report(std::string_view text, double now_s) {
  const ScriptReport report = parse_script_report(text);
  // The controller may be late. A clock that is not the machine's could be anything.
  last_report_s_ = std::clamp(report.monotonic_s.value_or(now_s), std::min(last_report_s_, now_s), now_s);
  return take(report, last_report_s_);
}

std::vector<Event> ScriptProgress::take_line(std::string_view line, double now_s) {
  ScriptReport report;
  if (const auto iteration = iteration_pattern_.find(line)) report.iteration = whole(*iteration, "iteration");
  report.epoch = finite(epoch_pattern_.find(line));
  report.train_loss = finite(train_loss_pattern_.find(line));
  const std::optional<double> test_loss = test_loss_pattern_.find(line);
  const std::optional<double> test_accuracy = test_accuracy_pattern_.find(line);
  if (test_loss) printed_test_loss_ = finite(test_loss);
  report.is_evaluation = (test_accuracy_pattern_.pattern ? test_accuracy : test_loss).has_value();
  if (report.is_evaluation) {
    report.test_loss = std::exchange(printed_test_loss_, std::nullopt);
    report.test_accuracy = finite(test_accuracy);
    if (report.test_accuracy && (*report.test_accuracy < 0 || *report.test_accuracy > 1)) {
      throw InvalidEvent(
          fmt::format("printed the test accuracy {:g}, but it must be a share from 0 to 1 or be "
                      "followed by %",
                      *report.test_accuracy));
    }
    if (!report.iteration) report.iteration = iteration_;
  }
  return take(report, now_s);
}

std::vector<Event> ScriptProgress::take(const ScriptReport& report, double now_s) {
  if (libraries_.is_null()) libraries_ = report.libraries;
  payload_bytes_ += report.payload_bytes;
  if (report.epoch) epoch_ = report.epoch;
  if (report.train_loss) train_loss_ = report.train_loss;
  std::vector<Event> events;
  if (!report.iteration) return events;
  const std::int64_t iteration = *report.iteration;
  if (iteration < iteration_) {
    throw InvalidEvent(
        fmt::format("reported iteration {} after iteration {}: iterations are counted over the whole "
                    "run, not within an epoch",
                    iteration, iteration_));
  }
  has_reported_ = true;
  if (iteration == 0) {
    reported_its_start_ = true;
    began_s_ = now_s;
  }
  const double time_s = train_time_s(report, now_s);
  if (iteration > iteration_) events.emplace_back(iteration_event(iteration, time_s));
  if (report.is_evaluation) {
    has_curve_ = true;
    events.emplace_back(event::Evaluation{.iteration = iteration,
                                          .epoch = epoch_.value_or(0),
                                          .train_time_s = time_s,
                                          .train_loss = train_loss_,
                                          .test_loss = report.test_loss,
                                          .test_accuracy = report.test_accuracy,
                                          .others = report.others});
  }
  return events;
}

// Returns the train time of a report with an iteration: its own, or the controller's.
double ScriptProgress::train_time_s(const ScriptReport& report, double now_s) {
  if (*report.iteration == 0) return 0;
  const bool is_own = report.train_time_s.has_value();
  if (has_own_clock_.value_or(is_own) != is_own) {
    throw InvalidEvent(
        "reported iterations with and without \"train_time_s\"; report it with all of them or none");
  }
  has_own_clock_ = is_own;
  const double time_s = report.train_time_s.value_or(elapsed_s(now_s));
  if (time_s < last_train_time_s_) {
    throw InvalidEvent(
        fmt::format("reported the train time {:g} s after {:g} s", time_s, last_train_time_s_));
  }
  return time_s;
}

// The time of an iteration is the mean since the one that was reported before.
event::Iteration ScriptProgress::iteration_event(std::int64_t iteration, double train_time_s) {
  const double duration_s = train_time_s - std::exchange(last_train_time_s_, train_time_s);
  const auto count = static_cast<double>(iteration - std::exchange(iteration_, iteration));
  return {
      .iteration = iteration,
      .epoch = epoch_.value_or(0),
      .times = event::IterationTimes{.train_time_s = train_time_s, .iteration_time_s = duration_s / count},
      .train_loss = train_loss_,
      .payload_bytes = new_payload_bytes()};
}

// Returns the bytes reported since the last call; nullopt if the script never reported any.
std::optional<std::int64_t> ScriptProgress::new_payload_bytes() {
  if (payload_bytes_ == 0) return std::nullopt;
  return payload_bytes_ - std::exchange(passed_on_bytes_, payload_bytes_);
}

std::vector<Event> ScriptProgress::finish() {
  if (payload_bytes_ == passed_on_bytes_) return {};
  return {event::Iteration{.iteration = iteration_,
                           .epoch = epoch_.value_or(0),
                           .train_loss = train_loss_,
                           .payload_bytes = new_payload_bytes()}};
}

std::vector<std::string> ScriptProgress::unmatched_patterns() const {
  std::vector<std::string> keys;
  for (const Pattern* pattern : {&iteration_pattern_, &epoch_pattern_, &train_loss_pattern_,
                                 &test_loss_pattern_, &test_accuracy_pattern_}) {
    if (pattern->pattern && !pattern->has_matched) keys.emplace_back(pattern->key);
  }
  return keys;
}

}  // namespace thinpipe
