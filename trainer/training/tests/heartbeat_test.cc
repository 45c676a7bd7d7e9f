#include "trainer/training/heartbeat.hh"

#include <future>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(Heartbeat, TellsAtOnceAndThenAgainWhatTheLoopIsAt) {
  Pulse pulse;
  pulse.enter(Pulse::Phase::evaluating);
  pulse.count(7);
  std::vector<Event> heard;
  std::promise<void> second;
  {
    const Heartbeat heartbeat(pulse, [&](const Event& event) {
      heard.push_back(event);
      pulse.enter(Pulse::Phase::exchanging);
      pulse.count(8);
      if (heard.size() == 2) second.set_value();
    });
    second.get_future().wait();
  }
  const Event first = event::Heartbeat{.iteration = 7, .phase = "evaluating"};
  const Event next = event::Heartbeat{.iteration = 8, .phase = "exchanging"};
  EXPECT_TRUE(heard == (std::vector<Event>{first, next}));
}

}  // namespace
}  // namespace thinpipe::trainer
