// SPDX-License-Identifier: Apache-2.0
#include "netem/cross_traffic/cross_flow.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;

TEST(CrossFlow, SendsInTurnsWithItsPauses) {
  const CrossFlow flow{.from = "a", .to = "b", .on_s = 1, .off_s = 2};
  for (const auto& [elapsed_s, is_on, sending_s] :
       {std::tuple(0.5, true, 0.5), std::tuple(1.5, false, 1.0), std::tuple(3.25, true, 1.25),
        std::tuple(5.0, false, 2.0)}) {
    EXPECT_EQ(flow.is_on(elapsed_s), is_on) << elapsed_s;
    EXPECT_DOUBLE_EQ(flow.sending_s(elapsed_s), sending_s) << elapsed_s;
  }
  const CrossFlow constant{.from = "a", .to = "b"};
  EXPECT_TRUE(constant.is_on(7));
  EXPECT_EQ(constant.sending_s(7), 7);
}

TEST(CrossFlow, IsBetweenTwoHostsOfTheTopology) {
  const Topology topology = three_switch();
  const std::string host = topology.hosts.front();
  const auto refusal = [&](const CrossFlow& flow) {
    try {
      check_cross_flows({flow}, {"e.json", "/cross_traffic"}, topology);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal({.from = host, .to = topology.hosts.back()}), "");
  EXPECT_THAT(refusal({.from = host, .to = "nobody"}), HasSubstr("/cross_traffic/0/to: the topology"));
  EXPECT_THAT(refusal({.from = host, .to = host}), HasSubstr("is the host that sends"));
  EXPECT_THAT(refusal({.from = host, .to = topology.hosts.back(), .on_s = 1}),
              HasSubstr(R"(/cross_traffic/0: needs both "on" and "off")"));
}

TEST(CrossFlow, NeedsLinks) {
  Topology loopback;
  loopback.kind = TopologyKind::loopback;
  EXPECT_THAT(
      [&] {
        check_cross_flows({{.from = "a", .to = "b"}}, {"e.json", "/cross_traffic"}, loopback);
      },
      testing::ThrowsMessage<InputError>(HasSubstr("the loopback topology has none")));
}

}  // namespace
}  // namespace thinpipe::netem
