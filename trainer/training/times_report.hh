// SPDX-License-Identifier: Apache-2.0
// A worker's report of the times of its iterations, which every worker of a live run or a replay sends if it is asked to:
// the event "worker_times" (docs/reference/trainers.md).
#pragma once

#include <functional>

#include "common/protocol/event.hh"

namespace thinpipe::trainer {

class TimesReport {
 public:
  explicit TimesReport(std::function<void(const Event&)> send) : send_(std::move(send)) {}

  // Takes an iteration that has just ended. Sends those of half a second together: an event per iteration would slow short
  // iterations down.
  void add(const event::WorkerIteration& iteration);

  // Sends the iterations that were not sent yet.
  void flush();

 private:
  std::function<void(const Event&)> send_;
  event::WorkerTimes unsent_;
};

}  // namespace thinpipe::trainer
