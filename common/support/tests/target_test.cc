#include "common/support/target.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Metric = Target::Metric;

const Place target_place{"experiment.json", "/targets/0"};

TEST(Target, ANumberIsAnAccuracy) {
  EXPECT_EQ(read_target(0.84, target_place), (Target{Metric::accuracy, 0.84}));
  EXPECT_EQ(read_target(1, target_place), (Target{Metric::accuracy, 1}));
  EXPECT_EQ(read_target({{"accuracy", 0.84}}, target_place), (Target{Metric::accuracy, 0.84}));
}

TEST(Target, OtherMetricsAreNamed) {
  EXPECT_EQ(read_target({{"test_loss", 0.5}}, target_place), (Target{Metric::test_loss, 0.5}));
  EXPECT_EQ(read_target({{"bits_per_byte", 2.2}}, target_place), (Target{Metric::bits_per_byte, 2.2}));
}

TEST(Target, WrittenAndReadAgainIsTheSame) {
  for (const Json& value : {Json(0.84), Json{{"test_loss", 0.5}}, Json{{"bits_per_byte", 2.2}}}) {
    EXPECT_EQ(to_json(read_target(value, target_place)), value);
  }
}

TEST(Target, RefusesWhatIsNone) {
  for (const Json& value :
       {Json("fast"), Json::array({0.5}), Json::object(), Json{{"accuracy", 0.5}, {"test_loss", 1}}}) {
    EXPECT_THAT([&] { read_target(value, target_place); },
                ThrowsMessage<InputError>(HasSubstr("bits_per_byte")));
  }
  for (const Json& value :
       {Json(0), Json(1.1), Json{{"accuracy", 84}}, Json{{"test_loss", 0}}, Json{{"bits_per_byte", -1}}}) {
    EXPECT_THAT([&] { read_target(value, target_place); }, ThrowsMessage<InputError>(HasSubstr("/targets/0")))
        << value;
  }
  EXPECT_THAT(
      [] {
        read_target({{"bits_per_bite", 2}}, target_place);
      },
      ThrowsMessage<InputError>(HasSubstr("bits_per_byte")));
}

TEST(Target, LessIsBetterForLosses) {
  EXPECT_TRUE(is_reached({Metric::accuracy, 0.8}, 0.8));
  EXPECT_FALSE(is_reached({Metric::accuracy, 0.8}, 0.79));
  EXPECT_TRUE(is_reached({Metric::test_loss, 0.5}, 0.5));
  EXPECT_FALSE(is_reached({Metric::bits_per_byte, 2}, 2.1));
}

TEST(Target, MeasuresBitsAsLossOverLnTwo) {
  const Json entry = {{"test_accuracy", 0.25}, {"test_loss", 1.3862943611198906}};
  EXPECT_DOUBLE_EQ(measure(Metric::accuracy, entry), 0.25);
  EXPECT_DOUBLE_EQ(measure(Metric::test_loss, entry), 1.3862943611198906);
  EXPECT_DOUBLE_EQ(measure(Metric::bits_per_byte, entry), 2);
}

TEST(Target, WhatWasNotFiniteReachesNothing) {
  const Json entry = {{"test_accuracy", 0.25}, {"test_loss", nullptr}};
  EXPECT_FALSE(is_reached({Metric::test_loss, 100}, measure(Metric::test_loss, entry)));
}

TEST(Target, FindsTheTargetOfAResult) {
  EXPECT_EQ(target_of({{"bits_per_byte", 2.2}, {"reached", false}}), (Target{Metric::bits_per_byte, 2.2}));
  EXPECT_THROW(target_of({{"reached", false}}), Error);
}

}  // namespace
}  // namespace thinpipe
