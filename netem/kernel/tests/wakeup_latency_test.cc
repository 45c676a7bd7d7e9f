// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/wakeup_latency.hh"

#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

TEST(WakeupLatency, QuantilesAreOfWhatWasAdded) {
  WakeupLatency wakeup_latency;
  for (int i = 100; i > 0; --i) wakeup_latency.add(i);
  EXPECT_EQ(wakeup_latency.quantile_s(0.5), 50);
  EXPECT_EQ(wakeup_latency.quantile_s(0.99), 99);
  EXPECT_EQ(wakeup_latency.quantile_s(1), 100);
  EXPECT_EQ(wakeup_latency.to_json(),
            Json({{"count", 100}, {"median_s", 50.0}, {"p99_s", 99.0}, {"max_s", 100.0}}));
}

TEST(WakeupLatency, OfNoneAreNull) {
  EXPECT_EQ(WakeupLatency().to_json(),
            Json({{"count", 0}, {"median_s", nullptr}, {"p99_s", nullptr}, {"max_s", nullptr}}));
}

TEST(WakeupLatency, NobodyWakesUpTooEarly) {
  const WakeupLatency measured = measure_wakeup_latency(20);
  EXPECT_EQ(measured.count(), 20U);
  EXPECT_GE(measured.quantile_s(0), 0);
}

}  // namespace
}  // namespace thinpipe::netem
