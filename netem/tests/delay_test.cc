// SPDX-License-Identifier: Apache-2.0
// Tests that links delay and disturb frames as asked. Needs a kernel with sch_netem; in_debian_kernel.sh
// boots one if this machine's has none.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/probe.hh"
#include "netem/network.hh"
#include "netem/schedule_runner.hh"
#include "netem/tests/datagrams.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

// The bounds hold only while the machine is not overloaded, so a busy moment gets another attempt.
constexpr int attempts = 6;
constexpr double deviations = 5;  // standard deviations: one in millions of correct kernels fails

// Returns two hosts and a link between them, of 100 Mbit/s unless `settings` says otherwise.
Topology pair_with(const Json& settings) {
  Json link = {{"between", {"a", "b"}}, {"rate", "100 Mbit/s"}};
  link.update(settings);
  return parse_topology({{"name", "pair"}, {"hosts", {"a", "b"}}, {"links", {link}}}, {"pair", ""});
}

std::string why_not() {
  try {
    check_kernel(pair_with({{"delay", "1 ms"}}));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class NetemTest : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string reason = why_not();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

std::vector<double> delays_of(const std::vector<Arrival>& arrivals) {
  std::vector<double> out;
  out.reserve(arrivals.size());
  for (const Arrival& arrival : arrivals) out.push_back(arrival.delay_s);
  std::ranges::sort(out);
  return out;
}

// 5 %, or half a millisecond.
double tolerance_s(double delay_s) {
  return std::max(0.05 * delay_s, 0.5e-3);
}

// Returns how far a count of `n` draws may be off if each is a hit with this probability.
double binomial_bound(double n, double probability) {
  return deviations * std::sqrt(n * probability * (1 - probability));
}

// Compares the shortest delay: a busy machine only makes frames later, and none may be early. Repeats the
// measurement if it is off.
double settled_delay_s(const Host& from, const Host& to, double asked_s) {
  constexpr std::size_t count = 60;
  double min_s = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::vector<double> delays = delays_of(send_datagrams(from, to, {.count = count, .gap_s = 0.004}));
    EXPECT_EQ(delays.size(), count);
    if (delays.empty()) return 0;
    min_s = delays.front();
    EXPECT_GE(min_s, asked_s - 1e-4) << "no frame is early";
    if (std::abs(min_s - asked_s) <= tolerance_s(asked_s)) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // a busy moment may last
  }
  return min_s;
}

TEST_F(NetemTest, TheKernelHoldsEveryOption) {
  const Network network(pair_with({{"delay", "20 ms"},
                                   {"jitter", "3 ms"},
                                   {"loss", 0.01},
                                   {"duplication", 0.002},
                                   {"reordering", 0.25},
                                   {"queue", "50 kB"},
                                   {"queueing", "fair"},
                                   {"backward", {{"delay", "45.5 ms"}, {"jitter", "0 s"}, {"loss", 0.03}}}}));
  const std::vector<ShapedDirection> shaping = network.shaping();
  ASSERT_EQ(shaping.size(), 2U);
  const Impairments& forth = shaping[0].read_back.impairments;
  EXPECT_NEAR(forth.delay_s, 0.020, 2e-6);
  EXPECT_NEAR(forth.jitter_s, 0.003, 2e-6);
  EXPECT_NEAR(forth.loss, 0.01, 1e-9);
  EXPECT_NEAR(forth.duplication, 0.002, 1e-9);
  EXPECT_NEAR(forth.reordering, 0.25, 1e-9);
  const Impairments& back = shaping[1].read_back.impairments;
  EXPECT_NEAR(back.delay_s, 0.0455, 2e-6);
  EXPECT_EQ(back.jitter_s, 0);
  EXPECT_NEAR(back.loss, 0.03, 1e-9);
  for (const ShapedDirection& direction : shaping) {
    EXPECT_EQ(direction.read_back.rate_bit_per_s, 100e6);
    EXPECT_EQ(direction.read_back.queue_bytes, 50e3);
    EXPECT_EQ(direction.read_back.queueing, Queueing::fair);
  }
}

TEST_F(NetemTest, DelaysEachDirectionByItsOwnDelay) {
  const Network network(pair_with({{"delay", "20 ms"}, {"backward", {{"delay", "50 ms"}}}}));
  const Host& a = network.host("a");
  const Host& b = network.host("b");
  EXPECT_NEAR(settled_delay_s(a, b, 0.020), 0.020, tolerance_s(0.020));
  EXPECT_NEAR(settled_delay_s(b, a, 0.050), 0.050, tolerance_s(0.050));
}

// A round trip takes longer than hosts without delays are given to connect.
TEST_F(NetemTest, HostsThatAreFarApartConnect) {
  const Network network(pair_with({{"delay", "2.6 s"}}));
  EXPECT_EQ(network.host("a").timeout_s, 5 + 4 * 2 * 5.2);
}

TEST_F(NetemTest, LosesTheShareThatWasAskedAndCountsIt) {
  const Network network(pair_with({{"forward", {{"loss", 0.1}}}}));
  const LinkCounters before = network.counters()[0];
  constexpr std::size_t count = 4000;
  const std::size_t arrived =
      send_datagrams(network.host("a"), network.host("b"), {.count = count, .gap_s = 0.0003}).size();
  const LinkCounters after = network.counters()[0];
  EXPECT_NEAR(static_cast<double>(count - arrived), 0.1 * count, binomial_bound(count, 0.1));
  // The connection that read the sockets' congestion control may still be closing, and lose frames too.
  const std::uint64_t lost = after.lost_on_purpose - before.lost_on_purpose;
  const std::uint64_t others = after.packets - before.packets + lost - count;
  EXPECT_LE(others, 10U);
  EXPECT_GE(lost, count - arrived);
  EXPECT_LE(lost, count - arrived + others);
  EXPECT_EQ(after.drops - before.drops, lost);
  EXPECT_EQ(after.full_queue_drops, before.full_queue_drops);
  EXPECT_EQ(network.frames_lost_outside_queues(), 0U);
  EXPECT_EQ(send_datagrams(network.host("b"), network.host("a"), {.count = 500, .gap_s = 0.0003}).size(),
            500U)
      << "the other direction loses nothing";
}

TEST_F(NetemTest, JittersEvenlyAroundTheDelay) {
  const Network network(pair_with({{"delay", "40 ms"}, {"jitter", "20 ms"}}));
  constexpr std::size_t count = 600;
  // Quantiles, because a mean would be dominated by the few late frames of a busy moment.
  const auto misfit = [](const std::vector<double>& delays) {
    double worst_s = 0;
    for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9}) {
      const double asked_s = 0.020 + 0.040 * share;
      worst_s = std::max(worst_s, std::abs(delays[static_cast<std::size_t>(share * count)] - asked_s));
    }
    return worst_s;
  };
  // The share below a quantile of 600 draws deviates by at most 0.02, which is 0.8 ms.
  constexpr double bound_s = deviations * 0.0008;
  double best_s = 1;
  for (int attempt = 0; attempt < attempts && best_s > bound_s; ++attempt) {
    const std::vector<double> delays =
        delays_of(send_datagrams(network.host("a"), network.host("b"), {.count = count, .gap_s = 0.002}));
    ASSERT_EQ(delays.size(), count);
    EXPECT_GE(delays.front(), 0.020 - 1e-4) << "no frame is early";
    best_s = std::min(best_s, misfit(delays));
  }
  EXPECT_LE(best_s, bound_s) << "the farthest of five quantiles";
}

TEST_F(NetemTest, DuplicatesTheShareThatWasAsked) {
  const Network network(pair_with({{"duplication", 0.2}}));
  constexpr std::size_t count = 2000;
  const std::vector<Arrival> arrivals =
      send_datagrams(network.host("a"), network.host("b"), {.count = count, .gap_s = 0.0003});
  std::set<std::size_t> distinct;
  for (const Arrival& arrival : arrivals) distinct.insert(arrival.number);
  EXPECT_EQ(distinct.size(), count);
  EXPECT_NEAR(static_cast<double>(arrivals.size() - count), 0.2 * count, binomial_bound(count, 0.2));
}

TEST_F(NetemTest, ReorderedFramesSkipTheDelayAndOvertake) {
  const Network network(pair_with({{"delay", "50 ms"}, {"reordering", 0.25}}));
  constexpr std::size_t count = 1000;
  const std::vector<Arrival> arrivals =
      send_datagrams(network.host("a"), network.host("b"), {.count = count, .gap_s = 0.001});
  ASSERT_EQ(arrivals.size(), count);
  double skipped = 0;
  double overtaken = 0;
  std::size_t newest = 0;
  for (const Arrival& arrival : arrivals) {
    if (arrival.delay_s < 0.040) ++skipped;
    if (arrival.number < newest) ++overtaken;
    newest = std::max(newest, arrival.number);
  }
  EXPECT_NEAR(skipped, 0.25 * count, binomial_bound(count, 0.25));
  EXPECT_GT(overtaken, 0.5 * count);
}

TEST_F(NetemTest, FramesOfATrainComeAfterTheDelayAtThePaceOfTheCap) {
  constexpr double frame_s = 8 * 1514 / 5e6;
  constexpr std::size_t count = 100;
  constexpr double bound_s = 0.06 * count * frame_s;  // the bucket lets two frames pass at once
  const Network network(pair_with({{"rate", "5 Mbit/s"}, {"delay", "30 ms"}, {"queue", "200 kB"}}));
  double first_s = 1;
  double train_s = 1;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::vector<Arrival> train = send_datagrams(network.host("a"), network.host("b"),
                                                      {.count = count, .gap_s = 0, .payload_bytes = 1472});
    ASSERT_EQ(train.size(), count) << "the queue holds them all";
    // Busy moments only make frames later: the smallest value is the best estimate.
    first_s = std::min(first_s, train.front().delay_s);
    train_s = std::min(train_s, train.back().time_s - train.front().time_s);
    if (first_s <= 0.030 + tolerance_s(0.030) && train_s <= count * frame_s + bound_s) break;
  }
  EXPECT_NEAR(first_s, 0.030, tolerance_s(0.030));
  EXPECT_NEAR(train_s, count * frame_s, bound_s);
}

TEST_F(NetemTest, ADelayedLinkCarriesWhatItsCapAllows) {
  constexpr double cap = 5e6;
  // A large burst makes up for moments in which the machine is busy.
  const Network network(
      pair_with({{"rate", "5 Mbit/s"}, {"delay", "30 ms"}, {"queue", "200 kB"}, {"burst", "60 kB"}}));
  const Host& a = network.host("a");
  const Host& b = network.host("b");
  double ratio = 0;
  for (int attempt = 0; attempt < attempts && std::abs(ratio - 1) > 0.03; ++attempt) {
    // Several flows, since a single one takes seconds to reach its speed. Long, since data that a receiver
    // holds back until a gap is filled arrives at once.
    const std::vector<double> flows =
        measure_goodput({{&a, &b}, {&a, &b}, {&a, &b}, {&a, &b}}, {.settle_s = 2, .measure_s = 12});
    ratio = std::accumulate(flows.begin(), flows.end(), 0.0) / cap / goodput_of_cap;
  }
  EXPECT_NEAR(ratio, 1, 0.03);
}

TEST_F(NetemTest, TheQueueOfADelayedLinkStillCountsBytes) {
  const Network network(pair_with({{"rate", "10 Mbit/s"}, {"delay", "30 ms"}, {"queue", "30 kB"}}));
  const LinkCounters before = network.counters()[0];
  const std::size_t arrived =
      send_datagrams(network.host("a"), network.host("b"), {.count = 100, .gap_s = 0, .payload_bytes = 1472})
          .size();
  const LinkCounters after = network.counters()[0];
  // 30 kB hold 19 full frames. The bucket, the frame that waits for it, and the frames that the cap passes
  // meanwhile add some.
  EXPECT_GE(arrived, 19U);
  EXPECT_LE(arrived, 60U);
  EXPECT_EQ(after.full_queue_drops - before.full_queue_drops, 100 - arrived);
  EXPECT_EQ(after.drops - before.drops, 100 - arrived);
  EXPECT_EQ(after.lost_on_purpose, before.lost_on_purpose);
}

TEST_F(NetemTest, TheMonitorJudgesTheLoss) {
  const Network network(pair_with({{"rate", "10 Mbit/s"}, {"forward", {{"loss", 0.05}}}}));
  Monitor monitor(network);
  send_datagrams(network.host("a"), network.host("b"), {.count = 1000, .gap_s = 0.0005});
  const Fidelity fidelity = monitor.verdict();
  const auto loss = std::ranges::find(fidelity.checks, "share of frames lost a->b", &Check::name);
  ASSERT_NE(loss, fidelity.checks.end());
  EXPECT_TRUE(loss->measured.is_number());
  EXPECT_TRUE(loss->ok) << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.checks[0].asked["loss"], 0.05);
}

TEST_F(NetemTest, SitesAcrossTheWorldAreAsFarApartAsTheTopologySays) {
  const Network network(load_topology(source_path("topologies/wan-4-sites.json")));
  EXPECT_NEAR(settled_delay_s(network.host("w0"), network.host("w4"), 0.0825), 0.0825, tolerance_s(0.0825));
  EXPECT_NEAR(settled_delay_s(network.host("w6"), network.host("w5"), 0.1375), 0.1375, tolerance_s(0.1375));
}

TEST_F(NetemTest, DelayAndLossChangeWhileTheNetworkStands) {
  const Topology topology = pair_with(Json::object());
  const Json config = {
      {"network_events",
       {{{"at", "1 s"}, {"link", "a->b"}, {"delay", "30 ms"}},
        {{"at", "2 s"}, {"link", "a->b"}, {"delay", "10 ms"}, {"loss", 0.2}},
        {{"at", "3 s"}, {"link", "a->b"}, {"delay", "0 s"}, {"loss", 0}, {"rate", "50 Mbit/s"}}}}};
  const Place place{"test", ""};
  const Schedule schedule = make_schedule(read_options<ScheduleOptions>(config, place), place, topology, {});
  Network network(topology, schedule);
  const Host& a = network.host("a");
  const Host& b = network.host("b");
  ScheduleRunner schedule_runner(network, schedule);
  schedule_runner.begin(0);
  EXPECT_NEAR(settled_delay_s(a, b, 0), 0, tolerance_s(0)) << "as it was built";
  schedule_runner.apply_due(1);
  EXPECT_NEAR(network.shaping()[0].read_back.impairments.delay_s, 0.030, 2e-6);
  EXPECT_NEAR(settled_delay_s(a, b, 0.030), 0.030, tolerance_s(0.030));
  EXPECT_NEAR(settled_delay_s(b, a, 0), 0, tolerance_s(0)) << "the other direction has none";
  schedule_runner.apply_due(2);
  EXPECT_NEAR(network.shaping()[0].read_back.impairments.delay_s, 0.010, 2e-6);
  EXPECT_NEAR(network.shaping()[0].read_back.impairments.loss, 0.2, 1e-9);
  constexpr std::size_t count = 2000;
  const std::size_t arrived = send_datagrams(a, b, {.count = count, .gap_s = 0.0003}).size();
  EXPECT_NEAR(static_cast<double>(count - arrived), 0.2 * count, binomial_bound(count, 0.2));
  schedule_runner.apply_due(3);
  EXPECT_FALSE(network.shaping()[0].read_back.impairments.any());
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 50e6);
  EXPECT_EQ(send_datagrams(a, b, {.count = 500, .gap_s = 0.0003}).size(), 500U);
  EXPECT_NEAR(settled_delay_s(a, b, 0), 0, tolerance_s(0));
}

TEST(KernelWithoutNetemTest, IsToldOfBeforeAnythingStarts) {
  const std::string reason = why_not();
  if (reason.empty()) GTEST_SKIP() << "this kernel has sch_netem";
  EXPECT_THAT(reason, testing::HasSubstr("module sch_netem"));
  EXPECT_THROW(Network(pair_with({{"loss", 0.1}})), Error);
  EXPECT_NO_THROW(check_kernel(pair_with(Json::object()))) << "a cap alone needs none";
  const Topology topology = pair_with(Json::object());
  const Json config = {{"network_events", {{{"at", "1 s"}, {"link", "a->b"}, {"loss", 0.1}}}}};
  const Place place{"test", ""};
  const Schedule schedule = make_schedule(read_options<ScheduleOptions>(config, place), place, topology, {});
  EXPECT_THROW(check_kernel(topology, schedule), Error) << "events are checked before they are due";
}

}  // namespace
}  // namespace thinpipe::netem
