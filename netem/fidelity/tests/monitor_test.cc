// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/monitor.hh"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/tests/chances.hh"
#include "netem/tests/flow.hh"
#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

using namespace std::chrono_literals;

// Flows over a link whose rate changes every 400 ms. `announced`: whether the monitor is told of the
// changes.
Fidelity watch_changes(bool announced) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  Monitor monitor(network);
  {
    const Host& from = network.host("w0");
    const Host& to = network.host("w3");
    const Flow first(from, to);
    const Flow second(from, to);
    double rate = 100e6;
    auto next = std::chrono::steady_clock::now() + 400ms;
    for (int changes = 0; changes < 6;) {
      std::this_thread::sleep_for(Monitor::sampling_period);
      monitor.sample();
      if (std::chrono::steady_clock::now() < next) continue;
      next += 400ms;
      ++changes;
      rate = rate == 100e6 ? 30e6 : 100e6;
      const auto change = [&] {
        Direction direction = topology.links[8].forward;
        direction.rate_bit_per_s = rate;
        network.reshape({8, true}, link_shape_of(direction));
      };
      if (announced) {
        monitor.around(change);
      } else {
        change();
      }
    }
  }
  return monitor.verdict();
}

TEST(MonitorTest, EachMomentIsJudgedByTheRateOfThatMoment) {
  Fidelity fidelity{.verdict = "degraded", .checks = {}};
  Chances chances;
  while (fidelity.verdict == "degraded" && chances.left()) fidelity = watch_changes(true);
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << ": " << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.verdict, "not judged") << to_json(fidelity).dump(1);  // three directions are idle
  EXPECT_EQ(fidelity.checks[0].name, "shaper left->middle");
  EXPECT_THAT(fidelity.checks[0].note, testing::HasSubstr("changed later"));
  EXPECT_TRUE(fidelity.checks[1].measured.is_number()) << to_json(fidelity).dump(1);
}

TEST(MonitorTest, ARateThatChangesUnaskedIsDegraded) {
  EXPECT_EQ(watch_changes(false).verdict, "degraded");
}

// Frames are lost there, too.
TEST(MonitorTest, TheNoteOfALinkThatWentDownNeedsNoCapOnIt) {
  Network network(shipped("three-switch"));
  Monitor monitor(network);
  monitor.around([&] { network.set_link_up(0, false); });
  monitor.around([&] { network.set_link_up(0, true); });
  EXPECT_THAT(monitor.verdict().checks.back().note, testing::HasSubstr("links went down"));
}

TEST(MonitorTest, TheTimeInWhichALinkIsDownIsNotJudged) {
  Network network(shipped("three-switch"));
  Monitor monitor(network);
  monitor.around([&] { network.set_link_up(8, false); });
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(Monitor::sampling_period);
    monitor.sample();
  }
  monitor.around([&] { network.set_link_up(8, true); });
  const Fidelity fidelity = monitor.verdict();
  EXPECT_EQ(fidelity.verdict, "not judged") << to_json(fidelity).dump(1);
  EXPECT_THAT(fidelity.checks.back().note, testing::HasSubstr("links went down"));
}

}  // namespace
}  // namespace thinpipe::netem
