#include "harness/records/curve.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

const Json point = {{"iteration", 20},   {"epoch", 0.5},      {"train_time_s", 1.5},
                    {"train_loss", 2.5}, {"test_loss", 0.75}, {"test_accuracy", 0.25}};

TEST(ReadCurve, ReadsEveryMember) {
  const std::vector<CurvePoint> points = read_curve({point, point});
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[1].iteration, 20);
  EXPECT_EQ(points[1].epoch, 0.5);
  EXPECT_EQ(points[1].train_time_s, 1.5);
  EXPECT_EQ(points[1].train_loss, 2.5);
  EXPECT_EQ(points[1].test_loss, 0.75);
  EXPECT_EQ(points[1].test_accuracy, 0.25);
}

TEST(ReadCurve, NullIsNotANumber) {
  Json gaps = point;
  for (const char* name : {"train_time_s", "train_loss", "test_loss"}) gaps[name] = nullptr;
  const CurvePoint got = read_curve(Json::array({gaps})).front();
  for (const double value : {got.train_time_s, got.train_loss, got.test_loss}) EXPECT_TRUE(std::isnan(value));
}

TEST(ReadCurve, RefusesByPlaceAndRule) {
  const auto refusal = [](const char* name, const Json& value) {
    Json wrong = point;
    wrong[name] = value;
    try {
      read_curve({point, wrong});
    } catch (const InputError& error) {
      return error.place().pointer + " " + error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("iteration", 1.5), "/curve/1/iteration must be an integer from 0 to 2^53");
  EXPECT_EQ(refusal("iteration", 2.0), "accepted");
  EXPECT_EQ(refusal("epoch", nullptr), "/curve/1/epoch must be a number of at least 0");
  EXPECT_EQ(refusal("train_time_s", -1), "/curve/1/train_time_s must be a number of at least 0 or null");
  EXPECT_EQ(refusal("test_loss", "low"), "/curve/1/test_loss must be a number or null");
  EXPECT_EQ(refusal("test_accuracy", nullptr), "accepted");
  EXPECT_EQ(refusal("test_accuracy", 25), "/curve/1/test_accuracy must be a number from 0 to 1 or null");
}

}  // namespace
}  // namespace thinpipe
