// SPDX-License-Identifier: Apache-2.0
#include "harness/run/run_log.hh"

#include <fmt/format.h>

#include "common/support/readable.hh"

namespace thinpipe {

void RunLog::note(const std::string& line) const {
  progress_.note(fmt::format("{}: {}", run_.label, line));
  if (log_) log_->warn(line);
}

void RunLog::warn(const std::string& warning) const {
  record_.warn(warning);
  note("warning: " + warning);
}

void RunLog::add(const Outcome& outcome) const {
  if (!log_) return;
  if (!outcome.failure) {
    log_->info("the run is {}, after iteration {}", name_of(outcome.status),
               record_.measurements().iterations());
    return;
  }
  const Failure& failure = *outcome.failure;
  log_->error("{}{}: {}", failure.rank ? fmt::format("worker {}, ", *failure.rank) : "", failure.kind,
              failure.message);
  for (const std::string& state : failure.worker_states) log_->info("state of a worker: {}", state);
  if (outcome.status == Outcome::Status::interrupted) note("leaves no checkpoint: " + failure.message);
}

void RunLog::add(const netem::LinkCapture& capture) const {
  const std::string file = capture.file.filename();
  log_->info("captured {} frames of {} in {}", capture.counts.frames, capture.link, file);
  if (!capture.problem.empty()) warn(fmt::format("the capture {} ended early: {}", file, capture.problem));
  if (capture.counts.missed > 0)
    warn(fmt::format("the capture {} missed {} frames, because this machine was too busy", file,
                     capture.counts.missed));
}

void RunLog::warn_of_missed(const Place& event, double trained_s) const {
  const InputError warning(event,
                           fmt::format("is after the end of training, which took {}, so it did not happen; "
                                       "move it, or train longer",
                                       format_duration(trained_s)));
  progress_.note(fmt::format("warning: {}", warning.what()));
  log_->warn(warning.what());
}

}  // namespace thinpipe
