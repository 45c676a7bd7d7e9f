#include "netem/kernel/wake_ups.hh"

#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

TEST(WakeUps, QuantilesAreOfWhatWasAdded) {
  WakeUps wake_ups;
  for (int i = 100; i > 0; --i) wake_ups.add(i);
  EXPECT_EQ(wake_ups.quantile_s(0.5), 50);
  EXPECT_EQ(wake_ups.quantile_s(0.99), 99);
  EXPECT_EQ(wake_ups.quantile_s(1), 100);
  EXPECT_EQ(wake_ups.to_json(),
            Json({{"count", 100}, {"median_s", 50.0}, {"p99_s", 99.0}, {"max_s", 100.0}}));
}

TEST(WakeUps, OfNoneAreNull) {
  EXPECT_EQ(WakeUps().to_json(),
            Json({{"count", 0}, {"median_s", nullptr}, {"p99_s", nullptr}, {"max_s", nullptr}}));
}

TEST(WakeUps, NobodyWakesUpTooEarly) {
  const WakeUps measured = measure_wake_ups(20);
  EXPECT_EQ(measured.count(), 20U);
  EXPECT_GE(measured.quantile_s(0), 0);
}

}  // namespace
}  // namespace thinpipe::netem
