// SPDX-License-Identifier: Apache-2.0
// Tests links whose queues drop or mark frames before they are full. They skip if the kernel lacks the
// discipline; in_debian_kernel.sh runs them on one that has all.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include "netem/kernel/kernel_features.hh"
#include "netem/network.hh"
#include "netem/tests/flow.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {
namespace {

// Returns three-switch with this discipline at its bottlenecks.
Topology three_switch_with(Queueing queueing) {
  Topology topology = three_switch();
  for (Link& link : topology.links) {
    if (link.bottleneck) link.forward.queueing = link.backward.queueing = queueing;
  }
  return topology;
}

using namespace std::chrono_literals;

// What a TCP connection and the queue that it fills did.
struct Filled {
  std::uint32_t retransmissions = 0;
  std::uint64_t drops = 0;
  std::optional<std::uint64_t> marks;
  bool negotiated = false;
  std::size_t received = 0;
};

// Returns two hosts behind a router, whose link to b is slow. Queues of routed networks fill. They are long
// enough for a connection's slow start.
Topology routed_pair(Queueing queueing, bool ecn) {
  Json slow = {{"between", {"r", "b"}}, {"rate", "10 Mbit/s"}, {"queueing", name_of(queueing)}, {"ecn", ecn}};
  slow["queue"] = queueing == Queueing::red ? "400 kB" : "1 MB";
  return parse_topology({{"name", "pair"},
                         {"switches", {"r"}},
                         {"hosts", {"a", "b"}},
                         {"forwarding", "routed"},
                         {"links", {{{"between", {"a", "r"}}}, slow}}},
                        {"pair", ""});
}

Filled fill(const Topology& topology) {
  const Network network(topology);
  const Flow flow(network.host("a"), network.host("b"));
  std::this_thread::sleep_for(5s);
  tcp_info info{};
  socklen_t length = sizeof info;
  system_call("read TCP_INFO", ::getsockopt(flow.client(), IPPROTO_TCP, TCP_INFO, &info, &length));
  const LinkCounters counters = network.counters().at(0);
  EXPECT_EQ(counters.name, "r->b");
  return {.retransmissions = info.tcpi_total_retrans,
          .drops = counters.drops,
          .marks = counters.marks,
          .negotiated = (info.tcpi_options & TCPI_OPT_ECN) != 0,
          .received = flow.received()};
}

class ActiveQueueingTest : public testing::TestWithParam<Queueing> {
 protected:
  // Skips the test if the kernel lacks the discipline.
  void SetUp() override {
    try {
      check_kernel(three_switch_with(GetParam()));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string("(module sch_") + name_of(GetParam())));
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_P(ActiveQueueingTest, TheKernelHoldsEachShapeThatWasAsked) {
  const Topology topology = three_switch_with(GetParam());
  Network network(topology);
  // The last ones need a large queue: 12.5 MB at 10 Gbit/s.
  for (const double rate : {1e6, 123.456e6, 1e9, 10e9}) {
    for (const bool ecn : {false, true}) {
      Direction direction = topology.links[8].forward;
      direction.rate_bit_per_s = rate;
      LinkShape asked = link_shape_of(direction);
      asked.ecn = ecn;
      const LinkShape held = network.reshape({8, true}, asked).read_back;
      EXPECT_EQ(held.rate_bit_per_s, rate);
      EXPECT_EQ(held.queueing, GetParam());
      EXPECT_EQ(held.ecn, ecn);
      EXPECT_NEAR(held.queue_bytes, asked.queue_bytes, GetParam() == Queueing::red ? 1 : 1514);
    }
  }
}

TEST_P(ActiveQueueingTest, FramesAreMarkedInsteadOfDropped) {
  const Filled filled = fill(routed_pair(GetParam(), true));
  EXPECT_TRUE(filled.negotiated);
  EXPECT_GT(filled.marks.value(), 0U);
  EXPECT_EQ(filled.drops, 0U);
  EXPECT_EQ(filled.retransmissions, 0U);
  EXPECT_GT(filled.received, 1'000'000U);
}

TEST_P(ActiveQueueingTest, ARateThatLeavesTheQueueAsItIsLosesNoFrame) {
  const Topology topology = routed_pair(GetParam(), true);
  Network network(topology);
  const Flow flow(network.host("a"), network.host("b"));
  LinkShape shape = link_shape_of(topology.links[1].forward);
  std::uint64_t waited_bytes = 0;
  for (const double rate : {11e6, 12e6, 13e6}) {
    std::this_thread::sleep_for(500ms);
    waited_bytes += network.counters().at(0).backlog_bytes;
    shape.rate_bit_per_s = rate;
    EXPECT_EQ(network.reshape({1, true}, shape).read_back.rate_bit_per_s, rate);
  }
  EXPECT_GT(waited_bytes, 0U) << "nothing could be lost";
  EXPECT_EQ(network.counters().at(0).drops, 0U);
}

TEST_P(ActiveQueueingTest, WithoutEcnFramesAreDropped) {
  const Filled filled = fill(routed_pair(GetParam(), false));
  EXPECT_FALSE(filled.negotiated);
  EXPECT_EQ(filled.marks, std::nullopt);
  EXPECT_GT(filled.drops, 0U);
  EXPECT_GT(filled.retransmissions, 0U);
  EXPECT_GT(filled.received, 1'000'000U);
}

TEST_P(ActiveQueueingTest, DctcpIsMarkedToo) {
  const std::vector<std::string> usable = usable_congestion_controls();
  if (std::ranges::find(usable, "dctcp") == usable.end()) GTEST_SKIP() << "this kernel has no tcp_dctcp";
  Topology topology = routed_pair(GetParam(), true);
  set_congestion_control(topology, "dctcp", {"test", ""});
  const Filled filled = fill(topology);
  EXPECT_TRUE(filled.negotiated);
  EXPECT_GT(filled.marks.value(), 0U);
  // Not with red: its average follows so late that the slow start fills the queue.
  if (GetParam() != Queueing::red) {
    EXPECT_EQ(filled.retransmissions, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(NetworkTest, ActiveQueueingTest,
                         testing::Values(Queueing::codel, Queueing::fq_codel, Queueing::red),
                         [](const auto& queueing) { return name_of(queueing.param); });

// On a kernel that has it, this passes without a look at the message.
TEST(NetworkTest, ADisciplineThatTheKernelLacksIsRefusedByNameAndRemedy) {
  for (const Queueing queueing : {Queueing::codel, Queueing::fq_codel, Queueing::red}) {
    try {
      check_kernel(three_switch_with(queueing));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr(std::string("this kernel has no ") + name_of(queueing)),
                                 testing::HasSubstr("load the module")));
    }
  }
}

}  // namespace
}  // namespace thinpipe::netem
