// SPDX-License-Identifier: Apache-2.0
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
  EXPECT_EQ(read_target({{"perplexity", 40}}, target_place), (Target{Metric::perplexity, 40}));
}

TEST(Target, WrittenAndReadAgainIsTheSame) {
  for (const Json& value :
       {Json(0.84), Json{{"test_loss", 0.5}}, Json{{"bits_per_byte", 2.2}}, Json{{"perplexity", 40}}}) {
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
  const Json alone = {{"targets", 0.8}};
  JsonObject object(alone, {"f", ""});
  EXPECT_THAT([&] { read_targets(object); },
              ThrowsMessage<InputError>("f at /targets: must be a list, such as [0.8], but is 0.8"));
}

TEST(Hold, IsThreeUnlessItIsGiven) {
  const auto read = [](const Json& config) {
    JsonObject object(config, {"e.json", ""});
    return read_hold(object);
  };
  EXPECT_EQ(read(Json::object()), 3);
  EXPECT_EQ(read({{"hold", 1}}), 1);
  for (const Json& value : {Json(0), Json(1.5), Json("3")})
    EXPECT_THAT([&] { read({{"hold", value}}); }, ThrowsMessage<InputError>(HasSubstr("/hold"))) << value;
}

TEST(Target, LessIsBetterForLosses) {
  EXPECT_TRUE(is_reached({Metric::accuracy, 0.8}, 0.8));
  EXPECT_FALSE(is_reached({Metric::accuracy, 0.8}, 0.79));
  EXPECT_TRUE(is_reached({Metric::test_loss, 0.5}, 0.5));
  EXPECT_FALSE(is_reached({Metric::bits_per_byte, 2}, 2.1));
  EXPECT_FALSE(is_reached({Metric::perplexity, 40}, 41));
}

}  // namespace
}  // namespace thinpipe
