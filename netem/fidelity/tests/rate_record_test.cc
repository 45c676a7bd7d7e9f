// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/rate_record.hh"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

constexpr LinkShape shape{.rate_bit_per_s = 100e6, .burst_bytes = 4000, .queue_bytes = 125e3};
constexpr double cap_bytes_per_s = 100e6 / 8;

// Simulates a queue that is fed at `arrival(t)` and, while it is not empty, sends at `service(t)`, both in
// bytes per second. It is read every `period_s`, give or take a tenth as timers do, for `duration_s`.
// A reading within the first `blind_s` after the end of a backlog comes at their end.
RateRecord simulate(const std::function<double(double)>& arrival,
                    const std::function<double(double)>& service, double duration_s, double period_s = 0.004,
                    double blind_s = 0) {
  RateRecord record(shape);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> jitter(0.9, 1.1);
  constexpr double step_s = 10e-6;
  double backlog = 0;
  double sent = 0;
  double next_reading_s = 0;
  double backlogged_at_s = -blind_s;
  for (double t = 0; t < duration_s; t += step_s) {
    backlog += arrival(t) * step_s;
    const double out = std::min(backlog, service(t) * step_s);
    if (backlog > 0) backlogged_at_s = t;
    backlog -= out;
    sent += out;
    const bool is_blind = backlog == 0 && t < backlogged_at_s + blind_s;
    if (t >= next_reading_s && !is_blind) {
      next_reading_s += period_s * jitter(random);
      record.add({.name = "a->b",
                  .rate_bit_per_s = 100e6,
                  .bytes = static_cast<std::uint64_t>(sent),
                  .backlog_bytes = static_cast<std::uint64_t>(backlog),
                  .time_s = t});
    }
  }
  return record;
}

double full_speed(double /*time_s*/) {
  return cap_bytes_per_s;
}

// Returns an arrival rate of twice the cap for `busy_s` of every `cycle_s`.
auto bursts(double busy_s, double cycle_s) {
  return [=](double t) { return std::fmod(t, cycle_s) < busy_s ? 2 * cap_bytes_per_s : 0; };
}

bool all_ok(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::ok);
}

TEST(RateRecordTest, AStandingQueueAtFullSpeedIsFaithful) {
  const auto checks = simulate([](double) { return 1.1 * cap_bytes_per_s; }, full_speed, 3).checks();
  ASSERT_EQ(checks.size(), 4U);
  EXPECT_TRUE(all_ok(checks));
  EXPECT_NEAR(checks[0].measured.get<double>(), 1, 0.01);
  EXPECT_NEAR(checks[1].measured.get<double>(), 1, 0.02);
  EXPECT_NEAR(checks[2].measured.get<double>(), 1, 0.01);
}

// Returns the record of a standing queue from which a shaper takes whole segments of two frames at `share` of the cap.
RateRecord of_segments(double rate_bit_per_s, double share, double duration_s) {
  RateRecord record({.rate_bit_per_s = rate_bit_per_s, .burst_bytes = 4000, .queue_bytes = 125e3});
  constexpr double segment_bytes = 3028;
  for (double t = 0; t < duration_s; t += 0.004) {
    const double segments = std::floor(share * rate_bit_per_s / 8 * t / segment_bytes);
    record.add({.name = "a->b",
                .rate_bit_per_s = rate_bit_per_s,
                .bytes = static_cast<std::uint64_t>(segments * segment_bytes),
                .backlog_bytes = 20000,
                .time_s = t});
  }
  return record;
}

TEST(RateRecordTest, WholeSegmentsOfALowCapAreNotTheShapersFault) {
  for (const double rate_bit_per_s : {100e3, 1e6, 2e6, 5e6}) {
    const auto checks = of_segments(rate_bit_per_s, 1, 60).checks();
    EXPECT_TRUE(all_ok(checks)) << rate_bit_per_s << ": " << checks[0].measured << " " << checks[1].measured;
    if (rate_bit_per_s >= 1e6) {
      EXPECT_TRUE(checks[0].measured.is_number()) << rate_bit_per_s;
      EXPECT_FALSE(of_segments(rate_bit_per_s, 0.95, 60).checks()[0].ok) << rate_bit_per_s;
    }
  }
}

TEST(RateRecordTest, SendersThatPauseAreNotTheShapersFault) {
  // Pauses longer than the time between readings.
  for (const double cycle_s : {0.2503, 0.0313}) {
    const auto checks = simulate(bursts(0.4 * cycle_s, cycle_s), full_speed, 30).checks();
    EXPECT_TRUE(all_ok(checks)) << cycle_s << ": " << checks[0].measured << " " << checks[1].measured;
    EXPECT_TRUE(checks[0].measured.is_number()) << cycle_s;
  }
}

TEST(RateRecordTest, PausesBetweenReadingsCanShowASlowShaperButNotAFaithfulOne) {
  for (const double cycle_s : {0.0171, 0.0043, 0.0011}) {
    const auto checks = simulate(bursts(0.4 * cycle_s, cycle_s), full_speed, 30).checks();
    EXPECT_TRUE(all_ok(checks)) << cycle_s << ": " << checks[0].measured << " " << checks[1].measured;
    EXPECT_TRUE(checks[0].measured.is_null()) << cycle_s << ": a slow shaper beside a flow looks the same";
    const auto slow = [](double) { return 0.9 * cap_bytes_per_s; };
    EXPECT_FALSE(simulate(bursts(0.4 * cycle_s, cycle_s), slow, 30).checks()[0].ok) << cycle_s;
  }
}

TEST(RateRecordTest, ReadingsThatComeLateWhenABacklogEndsAreNotTheShapersFault) {
  for (const double blind_s : {0.015, 0.03, 0.06}) {
    const auto checks = simulate(bursts(0.04, 0.2003), full_speed, 30, 0.004, blind_s).checks();
    EXPECT_TRUE(all_ok(checks)) << blind_s << ": " << checks[0].measured << " " << checks[1].measured;
    EXPECT_TRUE(checks[0].measured.is_number()) << blind_s;
    EXPECT_LT(checks[0].measured.get<double>(), 1.1) << blind_s;
    const auto slow = [](double) { return 0.9 * cap_bytes_per_s; };
    EXPECT_FALSE(simulate(bursts(0.04, 0.2003), slow, 30, 0.004, blind_s).checks()[0].ok) << blind_s;
  }
}

TEST(RateRecordTest, ASlowShaperIsSeen) {
  const auto slow = [](double) { return 0.95 * cap_bytes_per_s; };
  EXPECT_FALSE(simulate([](double) { return 1.1 * cap_bytes_per_s; }, slow, 3).checks()[0].ok);
  EXPECT_FALSE(simulate(bursts(0.04, 0.1003), slow, 30).checks()[0].ok);
}

// Returns an arrival of this share of the cap, and twice the cap for 10 ms more of every 100 ms.
auto bursts_beside(double flow) {
  return
      [=](double t) { return flow * cap_bytes_per_s + (std::fmod(t, 0.1) < 0.01 ? 2 * cap_bytes_per_s : 0); };
}

TEST(RateRecordTest, AConstantFlowHidesNoSlowShaper) {
  for (const double flow : {0.0, 0.1, 0.4}) {
    const auto faithful = simulate(bursts_beside(flow), full_speed, 60).checks();
    EXPECT_TRUE(all_ok(faithful)) << flow << ": " << faithful[0].measured << " " << faithful[1].measured;
    EXPECT_TRUE(faithful[0].measured.is_number()) << flow << ": " << faithful[0].note;
    const auto half = [](double) { return 0.5 * cap_bytes_per_s; };
    EXPECT_FALSE(simulate(bursts_beside(flow), half, 60).checks()[0].ok) << flow;
  }
}

// Returns the record of a link on which a flow of this share of the cap passes without waiting, but for 20 of every
// 100 ms, in which so many bytes wait and are sent at this share of the cap.
RateRecord waiting_now_and_then(double flow, double service, std::uint64_t backlog_bytes) {
  RateRecord record(shape);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> period_s(0.0039, 0.0043);
  constexpr double step_s = 1e-4;
  double sent = 0;
  double next_reading_s = 0;
  for (double t = 0; t < 60; t += step_s) {
    const bool waits = std::fmod(t, 0.1) < 0.02;
    sent += step_s * cap_bytes_per_s * (waits ? service : flow);
    if (t < next_reading_s) continue;
    next_reading_s = t + period_s(random);
    record.add({.name = "a->b",
                .bytes = static_cast<std::uint64_t>(sent),
                .backlog_bytes = waits ? backlog_bytes : 0,
                .time_s = t});
  }
  return record;
}

TEST(RateRecordTest, AConstantFlowBesideAShallowQueueIsNotCalledFaithful) {
  constexpr std::uint64_t shallow_bytes = 30000;  // less than the cap passes between two readings
  for (const double flow : {0.0, 0.1, 0.4}) {
    const Check faithful = waiting_now_and_then(flow, 1, shallow_bytes).checks()[0];
    EXPECT_TRUE(faithful.ok && faithful.measured.is_number()) << flow << ": " << faithful.note;
    const Check slow = waiting_now_and_then(flow, 0.5, shallow_bytes).checks()[0];
    EXPECT_TRUE(!slow.ok || slow.measured.is_null()) << flow << ": " << slow.measured;
  }
  const std::vector<Check> slow = waiting_now_and_then(0.4, 0.5, shallow_bytes).checks();
  for (const Check& check : {slow[0], slow[1]}) {
    EXPECT_TRUE(check.ok) << check.name << ": a link behind another with the same cap would look like this";
    EXPECT_THAT(check.note, testing::HasSubstr("frames that passed without waiting may hide a slow shaper"));
  }
}

TEST(RateRecordTest, ADeepQueueShowsHowFastFramesThatWaitAreSent) {
  constexpr std::uint64_t deep_bytes = 100000;  // two gaps between readings
  EXPECT_TRUE(all_ok(waiting_now_and_then(0.4, 1, deep_bytes).checks()));
  const Check slow = waiting_now_and_then(0.4, 0.5, deep_bytes).checks()[0];
  EXPECT_FALSE(slow.ok);
  EXPECT_NEAR(slow.measured.get<double>(), 0.5, 0.01);
}

TEST(RateRecordTest, AShaperThatFallsBehindNowAndThenIsSeenByThe5thPercentile) {
  const auto stalls = [](double t) {
    return std::fmod(t, 1.0) < 0.1 ? 0.5 * cap_bytes_per_s : cap_bytes_per_s;
  };
  const auto checks = simulate([](double) { return 1.1 * cap_bytes_per_s; }, stalls, 10).checks();
  EXPECT_TRUE(checks[0].ok);
  EXPECT_FALSE(checks[1].ok);
}

TEST(RateRecordTest, AShaperAboveItsCapIsSeen) {
  const auto checks =
      simulate([](double) { return 1.5 * cap_bytes_per_s; }, [](double) { return 1.2 * cap_bytes_per_s; }, 2)
          .checks();
  EXPECT_FALSE(checks[2].ok);
}

TEST(RateRecordTest, RareReadingsJudgeAsWell) {
  EXPECT_TRUE(all_ok(simulate([](double) { return 1.1 * cap_bytes_per_s; }, full_speed, 40, 0.1).checks()));
}

TEST(RateRecordTest, SaysThatThereWasTooLittleToJudge) {
  const auto checks = simulate([](double) { return 0.5 * cap_bytes_per_s; }, full_speed, 3).checks();
  EXPECT_TRUE(checks[0].measured.is_null());
  EXPECT_TRUE(checks[0].ok);
  EXPECT_THAT(checks[0].note, testing::HasSubstr("not judged"));
}

TEST(RateRecordTest, OnlyDropsByAQueueThatIsNotFullCount) {
  RateRecord record(shape);
  record.add({.name = "a->b", .drops = 5, .full_queue_drops = 5, .time_s = 1});
  record.add({.name = "a->b", .drops = 9, .full_queue_drops = 9, .time_s = 2});
  EXPECT_TRUE(record.checks()[3].ok);
  record.add({.name = "a->b", .drops = 12, .full_queue_drops = 9, .time_s = 3});
  EXPECT_FALSE(record.checks()[3].ok);
  EXPECT_EQ(record.checks()[3].measured, 3);
}

TEST(RateRecordTest, FramesAreLostInTheShareThatWasAsked) {
  LinkShape lossy = shape;
  lossy.impairments.loss = 0.1;
  const auto check_of = [&](std::uint64_t packets, std::uint64_t lost) {
    RateRecord record(lossy);
    record.add({.name = "a->b", .packets = 7, .drops = 3, .lost_on_purpose = 3, .time_s = 1});
    record.add({.name = "a->b",
                .packets = 7 + packets,
                .drops = 3 + lost,
                .lost_on_purpose = 3 + lost,
                .time_s = 2});
    EXPECT_TRUE(record.checks()[3].ok) << "a loss that was asked for is not an early drop";
    return record.checks().at(4);
  };
  // 1000 of 10000 losses are expected, with a standard deviation of 30.
  EXPECT_TRUE(check_of(9000, 1000).ok);
  EXPECT_TRUE(check_of(9140, 860).ok);
  EXPECT_FALSE(check_of(9160, 840).ok);
  EXPECT_FALSE(check_of(8840, 1160).ok);
  EXPECT_FALSE(check_of(10000, 0).ok);
  EXPECT_TRUE(check_of(50, 0).ok) << "too few to judge";
  EXPECT_THAT(check_of(50, 0).note, testing::HasSubstr("not judged"));
}

// The second counter of a reading includes a drop that the first one does not.
TEST(RateRecordTest, ADropWhileCountersAreReadIsNotEarly) {
  RateRecord record(shape);
  record.add({.name = "a->b", .drops = 5, .full_queue_drops = 5, .time_s = 1});
  record.add({.name = "a->b", .drops = 8, .full_queue_drops = 9, .time_s = 2});
  LinkShape other = shape;
  other.rate_bit_per_s = 50e6;
  record.set_shape(other);
  record.add({.name = "a->b", .drops = 8, .full_queue_drops = 9, .time_s = 2.1});
  record.add({.name = "a->b", .drops = 12, .full_queue_drops = 12, .time_s = 3});
  EXPECT_TRUE(record.checks()[3].ok);
  record.set_up(false);
  record.set_up(true);
  record.add({.name = "a->b", .drops = 30, .full_queue_drops = 20, .time_s = 4});
  EXPECT_TRUE(record.checks()[3].ok) << "while the link was down";
  record.add({.name = "a->b", .drops = 32, .full_queue_drops = 20, .time_s = 5});
  EXPECT_EQ(record.checks()[3].measured, 2);
}

// Of 100 frames, 5 are lost without a copy and 45 get a copy besides, of which 4.5 are lost: 9.5 of 145.
TEST(RateRecordTest, CopiesChangeTheShareOfLosses) {
  LinkShape copying = shape;
  copying.impairments = {.loss = 0.1, .duplication = 0.5};
  const auto is_ok = [&](std::uint64_t lost) {
    RateRecord record(copying);
    record.add({.name = "a->b", .time_s = 1});
    record.add(
        {.name = "a->b", .packets = 145'000 - lost, .drops = lost, .lost_on_purpose = lost, .time_s = 2});
    return record.checks().at(4).ok;
  };
  EXPECT_TRUE(is_ok(9'500));
  EXPECT_FALSE(is_ok(14'500)) << "a tenth of all";
}

// Adds readings every 4 ms of a link that is always backlogged, until a time, at a rate.
void run_at(RateRecord& record, double& time_s, double& bytes, double until_s, double rate_bit_per_s) {
  for (; time_s < until_s; time_s += 0.004, bytes += 0.004 * rate_bit_per_s / 8) {
    record.add(
        {.name = "a->b", .bytes = static_cast<std::uint64_t>(bytes), .backlog_bytes = 1, .time_s = time_s});
  }
}

TEST(RateRecordTest, EachMomentIsHeldAgainstTheShapeOfThatMoment) {
  LinkShape slow = shape;
  slow.rate_bit_per_s = 10e6;
  // Changes one slot apart, further apart, and slightly closer.
  for (const double every_s : {0.1, 0.35, 0.08}) {
    RateRecord record(shape);
    double time_s = 0;
    double bytes = 0;
    for (int i = 0; i < 100; ++i) {
      const LinkShape& now = i % 2 == 0 ? shape : slow;
      record.set_shape(now);
      run_at(record, time_s, bytes, time_s + every_s, now.rate_bit_per_s);
    }
    const auto checks = record.checks();
    EXPECT_TRUE(all_ok(checks)) << every_s;
    EXPECT_NEAR(checks[0].measured.get<double>(), 1, 0.01) << every_s;
    EXPECT_NEAR(checks[1].measured.get<double>(), 1, 0.01) << every_s;
  }
}

TEST(RateRecordTest, AShaperThatDoesNotFollowIsSeen) {
  LinkShape fast = shape;
  fast.rate_bit_per_s = 200e6;
  RateRecord record(shape);
  double time_s = 0;
  double bytes = 0;
  run_at(record, time_s, bytes, 2, 100e6);
  record.set_shape(fast);
  run_at(record, time_s, bytes, 4, 100e6);
  EXPECT_FALSE(record.checks()[1].ok);
  LinkShape slow = shape;
  slow.rate_bit_per_s = 50e6;
  record.set_shape(slow);
  run_at(record, time_s, bytes, 6, 100e6);
  EXPECT_FALSE(record.checks()[2].ok) << "too fast";
}

TEST(RateRecordTest, ALinkThatIsDownIsNotJudged) {
  RateRecord record(shape);
  double time_s = 0;
  double bytes = 0;
  run_at(record, time_s, bytes, 2, 100e6);
  record.set_up(false);
  run_at(record, time_s, bytes, 4, 0);
  record.add({.name = "a->b", .drops = 50, .time_s = 4});
  record.set_up(true);
  run_at(record, time_s, bytes, 6, 100e6);
  const auto checks = record.checks();
  EXPECT_TRUE(all_ok(checks));
  EXPECT_NEAR(checks[1].measured.get<double>(), 1, 0.01);
}

TEST(RateRecordTest, LossesAreHeldAgainstTheLossOfTheirTime) {
  const auto check_of = [](std::uint64_t lost_later) {
    LinkShape lossy = shape;
    lossy.impairments.loss = 0.1;
    RateRecord record(shape);
    record.add({.name = "a->b", .time_s = 1});
    record.add({.name = "a->b", .packets = 10000, .time_s = 2});
    record.set_shape(lossy);
    record.add({.name = "a->b", .packets = 10000, .time_s = 2.1});
    record.add({.name = "a->b",
                .packets = 20000 - lost_later,
                .drops = lost_later,
                .lost_on_purpose = lost_later,
                .time_s = 3});
    EXPECT_TRUE(record.checks()[3].ok);
    return record.checks().at(4);
  };
  EXPECT_TRUE(check_of(1000).ok);
  EXPECT_DOUBLE_EQ(check_of(1000).asked.get<double>(), 0.05);
  EXPECT_DOUBLE_EQ(check_of(1000).measured.get<double>(), 0.05);
  // A standard deviation is 30 frames, not counting frames of the time without loss.
  EXPECT_TRUE(check_of(860).ok);
  EXPECT_FALSE(check_of(840).ok);
  EXPECT_FALSE(check_of(0).ok);
}

}  // namespace
}  // namespace thinpipe::netem
