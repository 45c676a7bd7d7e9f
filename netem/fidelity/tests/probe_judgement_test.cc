// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

TEST(ProbeJudgementTest, ALinkThatTheFlowDoesNotFillIsNotJudged) {
  const Check check = probe([](double) { return 0.7; }, false);
  EXPECT_TRUE(check.ok);
  EXPECT_TRUE(check.measured.is_null());
  EXPECT_THAT(check.note, testing::HasSubstr("frames waited for 0.00 s"));
  EXPECT_TRUE(judge_probe({}, direction).measured.is_null());
}

}  // namespace
}  // namespace thinpipe::netem
