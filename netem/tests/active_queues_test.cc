// Tests links whose queues drop or mark frames before they are full. They skip if the kernel lacks the
// discipline; in_debian_kernel.sh runs them on one that has all.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/network.hh"
#include "netem/topology/tests/topologies.hh"

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
