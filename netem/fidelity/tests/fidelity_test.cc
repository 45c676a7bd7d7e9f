// SPDX-License-Identifier: Apache-2.0
// Tests that the emulated network keeps its caps: real traffic, real time, and the bounds that the product
// promises.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stop_token>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/probe.hh"
#include "netem/kernel/qdisc_stack.hh"
#include "netem/tests/chances.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

constexpr double tolerance = 0.03;
// Above this cap a machine with other work runs out of CPU time before the link is full.
constexpr double easy_cap_bit_per_s = 100e6;

// Repeats a measurement of a ratio that should be 1 until it is within the tolerance, or no attempts are
// left.
double settle(Chances& chances, const auto& measure) {
  double ratio = 0;
  while (std::abs(ratio - 1) > tolerance && chances.left()) ratio = measure();
  return ratio;
}

bool overloaded() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 && load > std::thread::hardware_concurrency();
}

class CapTest : public testing::TestWithParam<double> {};

TEST_P(CapTest, GoodputThroughEachBottleneckIsWhatTheCapAllows) {
  const double cap = GetParam();
  const Network network(three_switch(cap));
  for (const auto& [from, to] : {std::pair{"w0", "w3"}, {"w3", "w0"}, {"w4", "w5"}, {"w5", "w4"}}) {
    const Host& sender = network.host(from);
    const Host& receiver = network.host(to);
    Chances chances;
    const double ratio = settle(chances, [&] {
      return measure_goodput({{&sender, &receiver}}, {.settle_s = 0.2, .measure_s = 1})[0] / cap /
             goodput_of_cap;
    });
    if (cap > easy_cap_bit_per_s && std::abs(ratio - 1) > tolerance && overloaded()) {
      GTEST_SKIP() << "not judged: this machine's load exceeds its CPUs; the ratio was " << ratio;
    }
    if (chances.undecided()) GTEST_SKIP() << chances.reason() << "; the ratio was " << ratio;
    EXPECT_NEAR(ratio, 1, tolerance) << from << " to " << to;
    RecordProperty(fmt::format("ratio_{}_{}", from, to), fmt::format("{:.4f}", ratio));
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, CapTest, testing::Values(100e6, 500e6), [](const auto& rate) {
  return fmt::format("{}Mbit", static_cast<int>(rate.param / 1e6));
});

// Only a fair queue passes this test: with a fifo, small queues in the senders keep shares that chance has
// set.
TEST_P(CapTest, FourFlowsShareEvenly) {
  const double cap = GetParam();
  const Network network(three_switch(cap));
  const std::pair way{&network.host("w0"), &network.host("w3")};
  double evenness = 0;
  Chances chances;
  while (evenness < 0.99 && chances.left()) {
    evenness = jain_index(measure_goodput({way, way, way, way}, {.settle_s = 0.3, .measure_s = 1}));
  }
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << "; the index was " << evenness;
  EXPECT_GE(evenness, 0.99);
}

TEST(RoutedCapTest, GoodputThroughTwoRoutersIsWhatTheCapAllows) {
  const Network network(shipped("ring-of-sites"));
  Chances chances;
  const double ratio = settle(chances, [&] {
    return measure_goodput({{&network.host("w0"), &network.host("w5")}},
                           {.settle_s = 0.3, .measure_s = 1})[0] /
           100e6 / goodput_of_cap;
  });
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << "; the ratio was " << ratio;
  EXPECT_NEAR(ratio, 1, tolerance);
}

// Returns goodput as iperf3 measures it, in payload bits per second.
double iperf3_goodput(const Host& from, const Host& to) {
  Pipe log = Pipe::create();
  ChildProcess server({.arguments = {"iperf3", "-s", "-1", "--forceflush"},
                       .standard_output = log.write_end.get(),
                       .before_exec = [&] { to.enter(); }});
  log.write_end.reset();
  std::string received;
  for (char c = 0; received.find("listening") == std::string::npos && ::read(log.read_end.get(), &c, 1) == 1;)
    received += c;
  Pipe output = Pipe::create();
  ChildProcess client({.arguments = {"iperf3", "-c", to.address, "-t", "2", "-O", "1", "-J"},
                       .standard_output = output.write_end.get(),
                       .before_exec = [&] { from.enter(); }});
  output.write_end.reset();
  const std::string report = read_to_end(output.read_end, "read the output of iperf3");
  EXPECT_TRUE(client.wait().ok()) << report;
  return Json::parse(report)["end"]["sum_received"]["bits_per_second"].get<double>();
}

TEST(CrossCheckTest, Iperf3SeesTheCapToo) {
  if (!std::filesystem::exists("/usr/bin/iperf3"))
    GTEST_SKIP() << "iperf3 is not installed (apt-get install iperf3)";
  constexpr double cap = 100e6;
  const Network network(three_switch(cap));
  Chances chances;
  const double ratio = settle(
      chances, [&] { return iperf3_goodput(network.host("w0"), network.host("w3")) / cap / goodput_of_cap; });
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << "; the ratio was " << ratio;
  EXPECT_NEAR(ratio, 1, tolerance);
}

// Returns the verdict on four flows from a to b while something happens to the network.
Fidelity watch(const Network& network, const Host& from, const Host& to) {
  Monitor monitor(network);
  {
    const std::jthread sampler([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(Monitor::sampling_period);
        monitor.sample();
      }
    });
    measure_goodput({{&from, &to}, {&from, &to}, {&from, &to}, {&from, &to}},
                    {.settle_s = 0.1, .measure_s = 2});
  }
  return monitor.verdict();
}

TEST(MonitorTest, JudgesTheDirectionOfAQuietNetworkThatFlowsFill) {
  const Network network(three_switch(100e6));
  Fidelity fidelity{.verdict = "degraded", .checks = {}};
  Chances chances;
  while (fidelity.verdict == "degraded" && chances.left()) {
    fidelity = watch(network, network.host("w0"), network.host("w3"));
  }
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << ": " << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.verdict, "not judged") << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.directions, 4U);
  EXPECT_EQ(fidelity.judged_directions, 1U) << to_json(fidelity).dump(1);
  EXPECT_FALSE(fidelity.checks[1].measured.is_null()) << "four flows keep the link backlogged";
}

// Replaces the shaper of a host's device by one of half the rate, as if the machine fell behind.
void halve_rate(const Host& host) {
  host.network_namespace->run([] {
    const NetlinkSocket socket;
    const OwnedQdisc qdisc(rtnl_qdisc_alloc());
    rtnl_tc_set_ifindex(TC_CAST(qdisc.get()), first_ifindex);
    rtnl_tc_set_parent(TC_CAST(qdisc.get()), TC_H_ROOT);
    rtnl_tc_set_handle(TC_CAST(qdisc.get()), TC_HANDLE(1, 0));
    netlink_call("prepare", rtnl_tc_set_kind(TC_CAST(qdisc.get()), "tbf"));
    rtnl_qdisc_tbf_set_rate(qdisc.get(), 50'000'000 / 8, 4000, 0);
    rtnl_qdisc_tbf_set_limit(qdisc.get(), 125000);
    socket.send("change",
                build_message("change", rtnl_qdisc_build_update_request, qdisc.get(), qdisc.get(), 0));
  });
}

TEST(MonitorTest, ANetworkThatFallsBehindIsDegraded) {
  const Json description = Json::parse(R"({"name": "pair", "hosts": ["a", "b"],
      "links": [{"between": ["a", "b"], "rate": "100 Mbit/s"}]})");
  const Network network(parse_topology(description, {"pair", ""}));
  halve_rate(network.host("a"));
  Fidelity fidelity;
  double median = 0;  // of the rate while backlogged, over the cap
  Chances chances;
  while (std::abs(median - 0.5) > 0.05 && chances.left()) {
    fidelity = watch(network, network.host("a"), network.host("b"));
    EXPECT_EQ(fidelity.verdict, "degraded") << to_json(fidelity).dump(1);
    median = fidelity.checks[1].measured.get<double>();
  }
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << ": " << to_json(fidelity).dump(1);
  EXPECT_NEAR(median, 0.5, 0.05) << fidelity.checks[1].name;
}

}  // namespace
}  // namespace thinpipe::netem
