// SPDX-License-Identifier: Apache-2.0
#include "harness/run/script_run.hh"

#include <utility>

namespace thinpipe {
namespace {

const std::string what_counts_from_it =
    "from which the times of network_events, rate_trace, cross_traffic and worker_events count";

}  // namespace

void ScriptRun::start(Meeting meeting, double now_s) {
  meeting_ = std::move(meeting);
  progress_.start(now_s);
}

void ScriptRun::take_line(const std::string& line, double now_s, EventRecorder& recorder) {
  take(progress_.take_line(line, now_s), recorder);
}

void ScriptRun::take_report(const std::string& line, double now_s, EventRecorder& recorder) {
  take(progress_.take_report(line, now_s), recorder);
}

void ScriptRun::take(const std::vector<Event>& events, EventRecorder& recorder) {
  if (!recorder.has_begun() && progress_.has_reported()) begin(recorder);
  for (const Event& event : events) recorder.add(0, event);
}

// Without a report of its start, training began with the workers: links are metered from then on.
void ScriptRun::begin(EventRecorder& recorder) const {
  if (progress_.reported_its_start()) {
    recorder.begin();
  } else if (run_.schedules_anything()) {
    throw InvalidEvent("did not report iteration 0 first, " + what_counts_from_it +
                       "; call thinpipe.report(iteration=0) when training begins");
  } else {
    recorder.mark_begun();
  }
}

Outcome ScriptRun::end(Outcome outcome, double now_s, EventRecorder& recorder) {
  for (const Event& event : progress_.finish()) recorder.add(0, event);
  if (!progress_.libraries().is_null()) record_.set_provenance("libraries", progress_.libraries());
  if (progress_.iteration() == 0) record_.set_train_time(progress_.elapsed_s(now_s));
  if (outcome.status == Outcome::Status::completed && !recorder.has_begun() && run_.schedules_anything()) {
    return {Outcome::Status::failed,
            Failure{.kind = "protocol",
                    .rank = 0,
                    .message = "ended without a report of iteration 0, " + what_counts_from_it}};
  }
  return outcome;
}

}  // namespace thinpipe
