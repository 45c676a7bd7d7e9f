// SPDX-License-Identifier: Apache-2.0
// Probes of real networks.
#include "netem/fidelity/link_probe.hh"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/tests/chances.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Check> checks_of(const Network& network) {
  return probe_links(network, "before training");
}

class QuietNetworkTest : public testing::TestWithParam<const char*> {};

TEST_P(QuietNetworkTest, EveryDirectionIsJudged) {
  const Network network(shipped(GetParam()));
  std::vector<Check> checks;
  Chances chances;
  do {
    checks = checks_of(network);
  } while (!std::ranges::all_of(checks, &Check::ok) && chances.left());
  if (chances.undecided()) GTEST_SKIP() << chances.reason();
  ASSERT_EQ(checks.size(), 4U);
  EXPECT_EQ(checks[0].name, "rate in a probe before training, left->middle");
  EXPECT_EQ(judge(checks).verdict, "faithful") << to_json(judge(checks)).dump(1);
  for (const Check& check : checks)
    EXPECT_TRUE(check.measured.is_number()) << check.name << ": " << check.note;
}

INSTANTIATE_TEST_SUITE_P(Queues, QuietNetworkTest, testing::Values("three-switch", "three-router"));

// One flow crosses both caps of a path between hosts with capped links of the same rate.
TEST(LinkProbeTest, ALinkBehindAnotherWithTheSameCapIsJudged) {
  const Network network(parse_topology(Json::parse(R"({"name": "two", "hosts": ["a", "b"], "switches": ["s"],
      "links": [{"between": ["a", "s"], "rate": "50 Mbit/s"}, {"between": ["s", "b"], "rate": "50 Mbit/s"}]})"),
                                       {"two", ""}));
  std::vector<Check> checks;
  Chances chances;
  do {
    checks = checks_of(network);
  } while (judge(checks).verdict != "faithful" && chances.left());
  if (chances.undecided()) GTEST_SKIP() << chances.reason();
  EXPECT_EQ(judge(checks).verdict, "faithful") << to_json(judge(checks)).dump(1);
}

// One after another they would take longer than a probe may.
TEST(LinkProbeTest, ManyLinksOfHostsAreFilledTogether) {
  const Network network(
      parse_topology(Json::parse(R"({"name": "star", "hosts": {"w": 16}, "switches": ["hub"],
      "links": [{"between": ["w", "hub"], "rate": "100 Mbit/s"}]})"),
                     {"star", ""}));
  for (const Check& check : checks_of(network))
    EXPECT_THAT(check.note, Not(HasSubstr("takes longer"))) << check.name;
}

// A run would count it as its own. One or two frames without data still follow, from timers of TCP.
TEST(LinkProbeTest, HardlyAnythingOfAProbeIsSentAfterIt) {
  constexpr std::uint64_t full_frame_bytes = 1514;
  const Network network(shipped("three-switch"));
  checks_of(network);
  const std::vector<LinkCounters> after_probe = network.counters();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::vector<LinkCounters> later = network.counters();
  for (std::size_t i = 0; i < later.size(); ++i)
    EXPECT_LT(later[i].bytes - after_probe[i].bytes, full_frame_bytes) << later[i].name;
}

// A probe of 0.4 s, enough for 100 Mbit/s, would pass sixteen segments.
TEST(LinkProbeTest, ACapThatWasLoweredIsProbedForLonger) {
  Network network(shipped("three-switch"));
  for (const std::size_t link : {8U, 9U}) {
    for (const bool forward : {true, false}) {
      LinkShape shape = link_shape_of(network.topology().links[link].forward);
      shape.rate_bit_per_s = 1e6;
      network.reshape({.link = link, .forward = forward}, shape);
    }
  }
  std::vector<Check> checks;
  Chances chances;
  do {
    checks = checks_of(network);
  } while (!std::ranges::all_of(checks, [](const Check& check) {
    return check.ok && check.measured.is_number();
  }) && chances.left());
  if (chances.undecided()) GTEST_SKIP() << chances.reason();
  for (const Check& check : checks)
    EXPECT_TRUE(check.ok && check.measured.is_number()) << check.name << check.note;
}

TEST(LinkProbeTest, ALinkThatIsDownOrCannotBeFilledSaysSo) {
  Network network(parse_topology(Json::parse(R"({"name": "two", "hosts": ["a", "b"], "switches": ["s"],
      "links": [{"between": ["a", "s"], "rate": "50 Mbit/s"}, {"between": ["s", "b"], "rate": "5 Mbit/s"}]})"),
                                 {"two", ""}));
  const std::vector<Check> checks = checks_of(network);
  EXPECT_TRUE(checks[0].measured.is_null());
  EXPECT_THAT(checks[0].note, HasSubstr("also crosses s->b, which is slower"));
  EXPECT_TRUE(checks[2].measured.is_number()) << checks[2].note;
  network.set_link_up(1, false);
  const std::vector<Check> down = checks_of(network);
  EXPECT_EQ(down[2].note, "not judged: the link is down");
  EXPECT_TRUE(down[2].measured.is_null());
}

}  // namespace
}  // namespace thinpipe::netem
