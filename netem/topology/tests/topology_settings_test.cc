// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology_settings.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/link_shape.hh"
#include "netem/topology/tests/small_topology.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

Topology three_switches() {
  return load_topology(source_path("topologies/three-switch.json"));
}

TEST(TopologySettings, BottleneckRateLeavesADirectionWithoutACapAlone) {
  Topology topology = parse_topology(spoiled([](Json& t) {
                                       t["links"][2].erase("rate");
                                       t["links"][2]["forward"] = {{"rate", "5 Mbit/s"}};
                                     }),
                                     {"t.json", ""});
  set_bottleneck_rate(topology, 1e9, {"e.json", "/base/bottleneck/rate"});
  EXPECT_EQ(topology.links.back().forward.rate_bit_per_s, 1e9);
  EXPECT_FALSE(topology.links.back().backward.rate_bit_per_s);
}

TEST(TopologySettings, BottleneckRateReplacesEveryBottlenecksCap) {
  Topology topology = three_switches();
  set_bottleneck_rate(topology, 1e9, {"e.json", "/base/bottleneck/rate"});
  EXPECT_EQ(topology.links[8].forward.rate_bit_per_s, 1e9);
  EXPECT_EQ(topology.links[9].backward.rate_bit_per_s, 1e9);
  EXPECT_FALSE(topology.links[0].forward.rate_bit_per_s);
  EXPECT_EQ(link_shape_of(topology.links[9].forward).burst_bytes, 12500);
}

TEST(TopologySettings, BottleneckRateNeedsABottleneckAndAFittingRate) {
  Topology loopback = load_topology(source_path("topologies/loopback.json"));
  const Place place{"e.json", "/base/bottleneck/rate"};
  EXPECT_THROW(set_bottleneck_rate(loopback, 1e9, place), InputError);
  Topology topology = three_switches();
  for (const double rate : {-1.0, 0.0, 99e3, 17e9}) {
    EXPECT_THROW(set_bottleneck_rate(topology, rate, place), InputError) << rate;
  }
}

TEST(TopologySettings, BottleneckBuffersFitTheKernel) {
  Topology topology = three_switches();
  set_bottleneck_rate(topology, 10e9, {"e.json", "/base/bottleneck/rate"});
  set_bottleneck_queue(topology, 0.8, {"e.json", "/base/bottleneck/queue"});
  EXPECT_EQ(topology.links[8].forward.queue_bytes, 1e9);
  for (const auto& [set, key] :
       {std::pair{&set_bottleneck_queue, "queue"}, std::pair{&set_bottleneck_burst, "burst"}}) {
    const Place place{"e.json", std::string("/base/bottleneck/") + key};
    try {
      set(topology, 2, place);
      ADD_FAILURE() << "accepted a " << key << " of 2.5 GB";
    } catch (const InputError& error) {
      EXPECT_EQ(error.place().pointer, place.pointer);
      EXPECT_THAT(error.message(), testing::HasSubstr("is 2.5 GB at 10 Gbit/s"));
      EXPECT_THAT(error.message(), testing::HasSubstr("write at most 800 ms"));
    }
  }
}

}  // namespace
}  // namespace thinpipe::netem
