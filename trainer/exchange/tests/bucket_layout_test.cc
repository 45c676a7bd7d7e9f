// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/bucket_layout.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

const std::vector<ParameterInfo> parameters = {{.name = "a", .size = 10, .dimensions = 2},
                                               {.name = "b", .size = 3, .dimensions = 1},
                                               {.name = "c", .size = 10, .dimensions = 2},
                                               {.name = "d", .size = 5, .dimensions = 2}};

std::vector<Bucket> lay_out(const std::vector<std::size_t>& order, const Json& method,
                            const BucketOptions& options = {}) {
  const auto synchroniser = SynchroniserRegistry::instance().make(method, {"test", ""}, {});
  return lay_out_buckets(parameters, order, *synchroniser, options);
}

const Json dense_for_layout = {{"name", "dense"}};

std::vector<std::vector<std::size_t>> contents(const std::vector<Bucket>& buckets) {
  std::vector<std::vector<std::size_t>> out;
  for (const Bucket& bucket : buckets) {
    out.emplace_back();
    for (const Slice& slice : bucket.slices) out.back().push_back(slice.parameter);
  }
  return out;
}

TEST(BucketLayout, ClosesTheFirstBucketEarlyAndTheOthersAtTheirSize) {
  const auto buckets = lay_out({3, 2, 1, 0}, dense_for_layout, {.first_size_bytes = 20, .size_bytes = 52});
  EXPECT_THAT(contents(buckets), ElementsAre(ElementsAre(3), ElementsAre(2, 1), ElementsAre(0)));
}

TEST(BucketLayout, PlacesSlicesOneAfterTheOther) {
  const auto buckets = lay_out({3, 2, 1, 0}, dense_for_layout);
  ASSERT_EQ(buckets.size(), 1);
  EXPECT_EQ(buckets[0].size, 28);
  EXPECT_EQ(buckets[0].slices[1].offset, 5);
  EXPECT_EQ(buckets[0].slices[3].offset, 18);
}

TEST(BucketLayout, KeepsSideParametersApartAndLast) {
  const auto buckets = lay_out({3, 2, 1, 0}, {{"name", "topk"}, {"ratio", 0.5}});
  EXPECT_THAT(contents(buckets), ElementsAre(ElementsAre(3, 2, 0), ElementsAre(1)));
  EXPECT_FALSE(buckets[0].side);
  EXPECT_TRUE(buckets[1].side);
  EXPECT_EQ(buckets[1].index, 1);
}

TEST(BucketLayout, GivesAMethodThatNeedsTheWholeGradientOneBucket) {
  const auto buckets = lay_out({3, 2, 1, 0}, {{"name", "topk"}, {"ratio", 0.5}, {"scope", "global"}},
                               {.first_size_bytes = 4, .size_bytes = 4});
  EXPECT_THAT(contents(buckets), ElementsAre(ElementsAre(3, 2, 0), ElementsAre(1)));
}

TEST(BucketLayout, HashTellsOrdersApart) {
  const auto hash = [](const std::vector<std::size_t>& order) {
    return layout_hash(parameters, lay_out(order, dense_for_layout));
  };
  EXPECT_EQ(hash({3, 2, 1, 0}), hash({3, 2, 1, 0}));
  EXPECT_NE(hash({3, 2, 1, 0}), hash({2, 3, 1, 0}));
}

}  // namespace
}  // namespace thinpipe::trainer
