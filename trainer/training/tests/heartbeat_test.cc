// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/heartbeat.hh"

#include <future>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(Heartbeat, TellsAtOnceAndThenAgainWhatTheLoopIsAt) {
  WorkerStatus worker_status;
  worker_status.enter(WorkerStatus::Phase::evaluating);
  worker_status.count(7);
  std::vector<Event> received;
  std::promise<void> second;
  {
    const Heartbeat heartbeat(worker_status, [&](const Event& event) {
      received.push_back(event);
      worker_status.enter(WorkerStatus::Phase::exchanging);
      worker_status.count(8);
      if (received.size() == 2) second.set_value();
    });
    second.get_future().wait();
  }
  const Event first = event::Heartbeat{.iteration = 7, .phase = "evaluating"};
  const Event next = event::Heartbeat{.iteration = 8, .phase = "exchanging"};
  EXPECT_TRUE(received == (std::vector<Event>{first, next}));
}

}  // namespace
}  // namespace thinpipe::trainer
