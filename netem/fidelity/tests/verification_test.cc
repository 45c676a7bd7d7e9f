// SPDX-License-Identifier: Apache-2.0
// The results of verify for networks that are not as asked, and the measurements behind them.
#include "netem/fidelity/verification.hh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>

#include "netem/kernel/kernel_features.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/probe.hh"
#include "netem/tests/chances.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

// Enough to find a link at half of its rate.
constexpr VerificationEffort hasty{.repetitions = 1,
                                   .settle_s = 0.2,
                                   .goodput_s = 0.3,
                                   .shared_s = 0.3,
                                   .messages = 1,
                                   .datagrams = 50,
                                   .min_frames = 50};

Topology pair_at(const char* rate, const char* queueing = "fair") {
  const Json description = {
      {"name", "pair"},
      {"hosts", {"a", "b"}},
      {"links", {{{"between", {"a", "b"}}, {"rate", rate}, {"queueing", queueing}, {"bottleneck", true}}}}};
  return parse_topology(description, {"pair", ""});
}

// Gives a host's sending direction another rate than the topology does.
void change_rate(const Host& host, int bytes_per_s) {
  host.network_namespace->run([bytes_per_s] {
    const NetlinkSocket socket;
    const OwnedQdisc qdisc(rtnl_qdisc_alloc());
    rtnl_tc_set_ifindex(TC_CAST(qdisc.get()), first_ifindex);
    rtnl_tc_set_parent(TC_CAST(qdisc.get()), TC_H_ROOT);
    rtnl_tc_set_handle(TC_CAST(qdisc.get()), TC_HANDLE(1, 0));
    netlink_call("prepare", rtnl_tc_set_kind(TC_CAST(qdisc.get()), "tbf"));
    rtnl_qdisc_tbf_set_rate(qdisc.get(), bytes_per_s, 4000, 0);
    rtnl_qdisc_tbf_set_limit(qdisc.get(), 125000);
    socket.send("change",
                build_message("change", rtnl_qdisc_build_update_request, qdisc.get(), qdisc.get(), 0));
  });
}

const Measurement& find(const std::vector<Measurement>& all, const std::string& subject,
                        const std::string& what) {
  static const Measurement none;
  for (const Measurement& one : all) {
    if (one.subject == subject && one.what == what) return one;
  }
  ADD_FAILURE() << "there is no measurement of " << subject << ": " << what;
  return none;
}

TEST(VerifyTest, FindsADirectionThatIsTooSlow) {
  const Network network(pair_at("100 Mbit/s"));
  change_rate(network.host("a"), 50'000'000 / 8);
  std::vector<std::string> told;
  const auto tell = [&told](const std::string&, const std::string& what) { told.push_back(what); };
  const auto in_both = [](const std::vector<Measurement>& measurements, const char* direction) {
    return find(measurements, direction, "rate of all frames, both directions");
  };
  std::vector<Measurement> measurements;
  Chances chances;
  do {
    measurements = verify(network, hasty, tell);
    // On a busy machine frames may not wait through any of the windows.
  } while (!in_both(measurements, "a->b").measured && chances.left());
  if (chances.undecided()) GTEST_SKIP() << chances.reason();
  EXPECT_FALSE(all_well(measurements));
  const Measurement& off = find(measurements, "a->b", "goodput of one flow");
  EXPECT_FALSE(off.ok);
  EXPECT_NEAR(off.asked.value(), 100e6 * goodput_of_cap, 1);
  EXPECT_NEAR(off.measured.value() / off.asked.value(), 0.5, 0.05);
  EXPECT_FALSE(find(measurements, "a->b", "1 MiB after a pause").ok);
  EXPECT_FALSE(find(measurements, "a->b", "goodput, both directions at once").ok);
  EXPECT_FALSE(find(measurements, "a to b", "goodput of one flow").ok);
  const Measurement off_in_both = in_both(measurements, "a->b");
  ASSERT_TRUE(off_in_both.measured) << off_in_both.note;
  EXPECT_FALSE(off_in_both.ok);
  EXPECT_NEAR(*off_in_both.measured / 100e6, 0.5, 0.05);
  EXPECT_GT(in_both(measurements, "b->a").measured.value_or(100e6), 1.5 * *off_in_both.measured);
  // The shape that the kernel held when the network was built was the one asked for.
  EXPECT_TRUE(find(measurements, "a->b", "rate in the kernel").ok);
  EXPECT_TRUE(find(measurements, "a->b", "burst in the kernel").ok);
  EXPECT_THAT(told, Contains("both directions at once"));
  EXPECT_EQ(to_json(measurements)["verdict"], "deviates");
}

TEST(VerifyTest, DoesNotJudgeWhatASharedQueueDoesNotPromise) {
  const Network network(pair_at("100 Mbit/s", "fifo"));
  const auto measurements = verify(network, hasty, [](const std::string&, const std::string&) {});
  for (const char* const what : {"evenness of four flows", "goodput, both directions at once"}) {
    const Measurement& one = find(measurements, "a->b", what);
    EXPECT_TRUE(one.measured) << what;
    EXPECT_EQ(one.rule, "") << what;
    EXPECT_THAT(one.note, HasSubstr("share one queue"));
  }
  EXPECT_NE(find(measurements, "a->b", "goodput of one flow").rule, "");
}

TEST(VerifyTest, ExpectsWhatABurstLetsPassEarly) {
  Topology topology = pair_at("100 Mbit/s");
  set_bottleneck_burst(topology, 2e-3, {"", ""});
  const Network network(topology);
  Measurement message;
  Chances chances;
  do {
    const auto measurements = verify(network, hasty, [](const std::string&, const std::string&) {});
    message = find(measurements, "a->b", "64 KiB after a pause");
  } while ((!message.ok || message.measured.value() >= 0.9 * message.asked.value()) && chances.left());
  if (chances.undecided()) GTEST_SKIP() << chances.reason();
  EXPECT_LT(message.measured.value(), 0.9 * message.asked.value()) << "25 kB pass at once";
  EXPECT_TRUE(message.ok) << message.note;
  EXPECT_THAT(message.rule, HasSubstr("40 % earlier"));
}

TEST(VerifyTest, SaysWhyALinkCannotBeMeasured) {
  const Json description =
      Json::parse(R"({"name": "n", "switches": ["l", "r", "empty"], "hosts": ["a", "b"], "links": [
      {"between": ["a", "l"], "rate": "100 Mbit/s"}, {"between": ["l", "r"], "rate": "1 Gbit/s"},
      {"between": ["b", "r"]}, {"between": ["r", "empty"], "rate": "1 Gbit/s"}]})");
  const Network network(parse_topology(description, {"n", ""}));
  const auto measurements = verify(network, hasty, [](const std::string&, const std::string&) {});
  EXPECT_THAT(find(measurements, "l->r", "goodput").note, HasSubstr("a->l, which is slower"));
  EXPECT_THAT(find(measurements, "r->empty", "goodput").note, HasSubstr("no path between hosts"));
  EXPECT_FALSE(find(measurements, "l->r", "goodput").measured);
}

TEST(ProbeNetworkTest, MessagesAndRoundTripsComeSorted) {
  const Network network(pair_at("100 Mbit/s"));
  const Host& a = network.host("a");
  const Host& b = network.host("b");
  const auto messages = measure_messages(a, b, {.bytes = 65536, .count = 3, .idle_s = 0.01});
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(messages));
  // A message cannot be faster than its cap, except for the burst.
  EXPECT_GT(messages.front(), ideal_message_s(65536 - 2 * 4000, 100e6));
  const auto round_trips = measure_round_trips(a, b, 10);
  ASSERT_EQ(round_trips.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(round_trips));
}

TEST(ProbeNetworkTest, LossCountsWhatNeverArrives) {
  const Network network(pair_at("10 Mbit/s"));
  EXPECT_EQ(measure_loss(network.host("a"), network.host("b"), {.count = 100, .rate_bit_per_s = 2e6}), 0);
  // Far above the cap, the queue drops: 500 x 1042 bytes arrive in about 20 ms, in which the link sends and
  // holds 60 kB.
  const int lost =
      measure_loss(network.host("a"), network.host("b"), {.count = 500, .rate_bit_per_s = 200e6});
  EXPECT_GT(lost, 100);
  EXPECT_LT(lost, 500);
  std::uint64_t dropped = 0;
  for (const LinkCounters& counters : network.counters()) dropped += counters.drops;
  EXPECT_EQ(static_cast<std::uint64_t>(lost), dropped);
}

TEST(KernelFeaturesTest, WhatNetworksAreBuiltOfIsThere) {
  EXPECT_EQ(obstacle_to_qdisc("tbf"), std::nullopt);
  EXPECT_EQ(obstacle_to_qdisc("bfifo"), std::nullopt);
  EXPECT_THAT(usable_congestion_controls(), IsSupersetOf({"cubic", "reno"}));
}

TEST(KernelFeaturesTest, AMissingQdiscIsSaidToBeMissing) {
  EXPECT_THAT(obstacle_to_qdisc("nosuch").value_or(""), HasSubstr("no module sch_nosuch"));
}

}  // namespace
}  // namespace thinpipe::netem
