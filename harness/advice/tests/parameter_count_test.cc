// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/parameter_count.hh"

#include <numeric>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

const Json planned = {
    {"parameters", 1000},
    {"gradient_bytes", 4000},
    {"bucket_bytes", {1000, 3000}},
    {"payload_bytes_per_iteration", 400.0},
    {"sent_bytes_per_iteration", 700.0},
    {"codes_per_iteration", 10.0},
    {"largest_code", 7},
    {"shifted_bytes_per_iteration", {1.0, 2.0}},
    {"group_shifts_per_iteration", Json::array({{{"workers", 4}, {"distance", 1}, {"bytes", 2.0}}})}};

TEST(ScalePlan, BytesAreProportionalToTheNumberOfParameters) {
  const Json plan = scale_plan(planned, 25e6);
  EXPECT_EQ(plan.at("gradient_bytes"), 100e6);
  EXPECT_EQ(plan.at("payload_bytes_per_iteration"), 10e6);
  EXPECT_EQ(plan.at("sent_bytes_per_iteration"), 17.5e6);
  EXPECT_EQ(plan.at("codes_per_iteration"), 250e3);
  EXPECT_EQ(plan.at("largest_code"), 7);
  EXPECT_EQ(plan.at("shifted_bytes_per_iteration"), (Json{25e3, 50e3}));
  EXPECT_EQ(plan.at("group_shifts_per_iteration"),
            Json::array({{{"workers", 4}, {"distance", 1}, {"bytes", 50e3}}}));
}

TEST(ScalePlan, BucketsHoldTheWholeGradient) {
  const auto buckets = [](const Json& plan, double parameters) {
    return scale_plan(plan, parameters).at("bucket_bytes").get<std::vector<double>>();
  };
  EXPECT_EQ(buckets(planned, 25e6),
            (std::vector<double>{1 << 20, 25 << 20, 25 << 20, 25 << 20, 100e6 - (76 << 20)}));
  EXPECT_EQ(buckets(planned, 1e5), std::vector<double>{4e5});
  const auto many = buckets(planned, 1e12);
  EXPECT_LE(many.size(), 1002);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0), 4e12, 1e3);
  Json in_one_piece = planned;
  in_one_piece["bucket_bytes"] = {4000};
  EXPECT_EQ(buckets(in_one_piece, 25e6), std::vector<double>{100e6});
}

TEST(CountBuckets, CountsThoseThatAPlanLeavesOut) {
  for (const double parameters : {1e5, 25e6, 6e9}) {
    EXPECT_EQ(count_buckets(4 * parameters), scale_plan(planned, parameters).at("bucket_bytes").size());
  }
  EXPECT_EQ(count_buckets(280e9), 10'683);
}

}  // namespace
}  // namespace thinpipe
