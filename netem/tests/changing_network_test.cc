// SPDX-License-Identifier: Apache-2.0
// Tests networks that change under traffic. (NetworkTest and RoutedNetworkTest run on Debian's kernel too.)
#include <chrono>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/kernel/probe.hh"
#include "netem/network.hh"
#include "netem/tests/flow.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using namespace std::chrono_literals;

bool eventually(const std::function<bool()>& condition, std::chrono::seconds within = 20s) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

TEST(NetworkTest, TheKernelHoldsEachNewRateWithItsBurstAndQueue) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  for (const double rate : {500e6, 1e6, 123.456e6, 1e9, 100e3, 10e9}) {
    Direction direction = topology.links[8].forward;
    direction.rate_bit_per_s = rate;
    const ShapedDirection changed = network.reshape({8, true}, link_shape_of(direction));
    EXPECT_EQ(changed.name, "left->middle");
    EXPECT_EQ(changed.read_back.rate_bit_per_s, rate);
    EXPECT_NEAR(changed.read_back.burst_bytes, std::max(4000.0, 12.5e-6 * rate), 2 * rate / 8e6 + 1);
    EXPECT_NEAR(changed.read_back.queue_bytes, std::max(16 * 1514.0, 1.25e-3 * rate), 1);
    EXPECT_EQ(changed.read_back.queueing, Queueing::fair);
    EXPECT_EQ(network.shaping()[0].read_back, changed.read_back);
    EXPECT_EQ(network.counters()[0].rate_bit_per_s, rate);
    EXPECT_EQ(network.shaping()[1].read_back.rate_bit_per_s, 100e6) << "the other direction stays";
    EXPECT_EQ(network.counters()[1].rate_bit_per_s, 100e6);
  }
}

TEST(ChangingCapTest, GoodputFollowsIt) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  const auto goodput = [&] {
    return measure_goodput({{&network.host("w0"), &network.host("w3")}},
                           {.settle_s = 0.3, .measure_s = 0.7})[0];
  };
  const auto set_rate = [&](double rate) {
    Direction direction = topology.links[8].forward;
    direction.rate_bit_per_s = rate;
    network.reshape({8, true}, link_shape_of(direction));
  };
  const auto within = [](double low, double high) {
    return testing::AllOf(testing::Ge(low), testing::Le(high));
  };
  EXPECT_THAT(goodput(), within(50e6, 100e6));
  set_rate(20e6);
  EXPECT_THAT(goodput(), within(10e6, 20e6));
  set_rate(60e6);
  EXPECT_THAT(goodput(), within(30e6, 60e6));
}

// Takes a link down for a while, under a flow from one host to another. `late_bytes` may still leave the
// shaper: a host's own device notices within a second that the port is down, and the bytes sent until then
// are lost.
void expect_an_outage_and_a_survivor(Network& network, std::size_t link, const std::string& from,
                                     const std::string& to, const std::string& direction,
                                     std::uint64_t late_bytes = 0) {
  const auto bytes = [&] {
    for (const LinkCounters& counters : network.counters()) {
      if (counters.name == direction) return counters.bytes;
    }
    ADD_FAILURE() << direction;
    return std::uint64_t{0};
  };
  const Flow flow(network.host(from), network.host(to));
  ASSERT_TRUE(eventually([&] { return flow.received() > 500'000; }));
  network.set_link_up(link, false);
  std::this_thread::sleep_for(200ms);
  const std::uint64_t bytes_then = bytes();
  const std::size_t received_then = flow.received();
  std::this_thread::sleep_for(400ms);
  EXPECT_LE(bytes() - bytes_then, late_bytes) << "nothing leaves the shaper of a link that is down";
  EXPECT_EQ(flow.received(), received_then);
  network.set_link_up(link, true);
  EXPECT_TRUE(eventually([&] { return flow.received() > received_then + 500'000; }))
      << "the connection survives";
  EXPECT_FALSE(flow.ended());
  EXPECT_GT(bytes(), bytes_then);
  EXPECT_NO_THROW(connect_hosts(network.host(to), network.host(from)));
}

TEST(NetworkTest, ALinkThatIsDownCarriesNothingAndConnectionsSurviveIt) {
  Network network(shipped("three-switch"));
  expect_an_outage_and_a_survivor(network, 8, "w0", "w3", "left->middle");
  for (const ShapedDirection& direction : network.shaping()) EXPECT_TRUE(direction.up);
}

TEST(RoutedNetworkTest, ALinkThatIsDownCarriesNothingAndConnectionsSurviveIt) {
  const Topology topology = shipped("ring-of-sites");
  ASSERT_EQ(topology.links[10].a, "site0");
  Network one(topology);
  expect_an_outage_and_a_survivor(one, 10, "w0", "w2", "site0->site1");
  Network another(topology);
  expect_an_outage_and_a_survivor(another, 10, "w2", "w0", "site1->site0");
}

TEST(NetworkTest, AHostsLinkCanGoDownToo) {
  for (const char* const forwarding : {"bridged", "routed"}) {
    const Json description = {{"name", "t"},
                              {"switches", {"s"}},
                              {"hosts", {"a", "b"}},
                              {"forwarding", forwarding},
                              {"links",
                               {{{"between", {"a", "s"}}, {"rate", "50 Mbit/s"}},
                                {{"between", {"b", "s"}}, {"rate", "50 Mbit/s"}}}}};
    // At a cap of 50 Mbit/s, 2.5 MB would pass in the meantime.
    Network one(parse_topology(description, {"t", ""}));
    expect_an_outage_and_a_survivor(one, 0, "a", "b", "a->s", 50'000);
    Network another(parse_topology(description, {"t", ""}));
    expect_an_outage_and_a_survivor(another, 1, "a", "b", "s->b");
  }
}

TEST(NetworkTest, ALinkBetweenHostsCannotGoDown) {
  Network network(parse_topology(
      Json::parse(
          R"({"name": "p", "hosts": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "1 Mbit/s"}]})"),
      {"p", ""}));
  EXPECT_THROW(network.set_link_up(0, false), Error);
}

}  // namespace
}  // namespace thinpipe::netem
