// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/fidelity/link_probe.hh"

namespace thinpipe::netem {
namespace {

constexpr double probed_bit_per_s = 100e6;
constexpr double probed_bytes_per_s = probed_bit_per_s / 8;

const ShapedDirection direction{
    .name = "a->b",
    .asked = {.rate_bit_per_s = probed_bit_per_s, .burst_bytes = 4000, .queue_bytes = 125e3},
    .read_back = {}};

// Simulates a link that a flow fills from 0.05 s to 0.45 s, and readings of it every 2 ms until 0.5 s. While frames
// wait, the link sends at `speed(t)` times its cap; `queues`: whether frames wait at all.
Check probe(const std::function<double(double)>& speed, bool queues = true) {
  std::vector<LinkCounters> readings;
  double sent = 0;
  constexpr double step_s = 1e-5;
  for (int step = 0; step < 50000; ++step) {
    const double t = step * step_s;
    const bool fills = t >= 0.05 && t < 0.45;
    if (fills) sent += speed(t) * probed_bytes_per_s * step_s;
    if (step % 200 != 0) continue;
    readings.push_back({.name = "a->b",
                        .rate_bit_per_s = probed_bit_per_s,
                        .bytes = static_cast<std::uint64_t>(sent),
                        .backlog_bytes = fills && queues ? 20000U : 0U,
                        .time_s = t});
  }
  return judge_probe(readings, direction);
}

TEST(ProbeJudgementTest, AFilledLinkKeepsItsCap) {
  const Check check = probe([](double) { return 1.0; });
  EXPECT_TRUE(check.ok);
  EXPECT_NEAR(check.measured.get<double>(), 1, 0.01);
}

TEST(ProbeJudgementTest, ALinkOffByFivePercentIsNot) {
  for (const double speed : {0.95, 1.05}) {
    const Check check = probe([speed](double) { return speed; });
    EXPECT_FALSE(check.ok);
    EXPECT_NEAR(check.measured.get<double>(), speed, 0.01);
  }
}

TEST(ProbeJudgementTest, ALinkThatPassesItsCapWithoutAQueueIsJudgedToo) {
  const Check check = probe([](double) { return 1.0; }, false);
  EXPECT_TRUE(check.ok);
  EXPECT_NEAR(check.measured.get<double>(), 1, 0.01);
  EXPECT_FALSE(probe([](double) { return 1.05; }, false).ok);
}

// Simulates a shaper that passes whole segments at `share` of its low cap for three seconds.
Check probe_of_segments(double rate_bit_per_s, double share, bool queues) {
  constexpr double segment_bytes = 3028;
  std::vector<LinkCounters> readings;
  for (double t = 0; t < 3; t += 0.002) {
    readings.push_back({.name = "a->b",
                        .rate_bit_per_s = rate_bit_per_s,
                        .bytes = static_cast<std::uint64_t>(
                            std::floor(share * rate_bit_per_s / 8 * t / segment_bytes) * segment_bytes),
                        .backlog_bytes = queues ? 20000U : 0U,
                        .time_s = t});
  }
  ShapedDirection slow = direction;
  slow.asked.rate_bit_per_s = rate_bit_per_s;
  return judge_probe(readings, slow);
}

TEST(ProbeJudgementTest, WholeSegmentsOfALowCapAreNotTheShapersFault) {
  for (const bool queues : {true, false}) {
    for (const double rate_bit_per_s : {1e6, 1.3e6, 1.7e6, 2e6}) {
      EXPECT_TRUE(probe_of_segments(rate_bit_per_s, 1, queues).ok) << rate_bit_per_s << queues;
      EXPECT_FALSE(probe_of_segments(rate_bit_per_s, 0.9, true).ok) << rate_bit_per_s;
    }
    const Check too_few = probe_of_segments(100e3, 1, queues);
    EXPECT_TRUE(too_few.ok);
    EXPECT_TRUE(too_few.measured.is_null()) << too_few.measured;
  }
}

TEST(ProbeJudgementTest, ALinkThatTheFlowDoesNotFillIsNotJudged) {
  const Check check = probe([](double) { return 0.7; }, false);
  EXPECT_TRUE(check.ok);
  EXPECT_TRUE(check.measured.is_null());
  EXPECT_THAT(check.note, testing::HasSubstr("frames waited for 0.00 s"));
  EXPECT_TRUE(judge_probe({}, direction).measured.is_null());
}

}  // namespace
}  // namespace thinpipe::netem
