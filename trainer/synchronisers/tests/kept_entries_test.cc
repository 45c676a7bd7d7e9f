// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/kept_entries.hh"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using trainer::testing::make_world;
using trainer::testing::World;

TEST(KeptEntries, ArePackedOneAfterAnotherAndComeBackToTheirPlaces) {
  const World world = make_world(8, true);  // of the first four, the first and the third are kept
  const KeptEntries kept(world.kept);
  Bucket bucket = world.bucket;
  bucket.gradient = torch::arange(8, torch::kFloat);
  EXPECT_EQ(kept.count(bucket), 6);
  const torch::Tensor packed = kept.pack(bucket);
  EXPECT_TRUE(packed.equal(torch::tensor({0.0F, 2.0F, 4.0F, 5.0F, 6.0F, 7.0F})));
  const torch::Tensor back = torch::full({8}, 99.0F);
  kept.unpack(packed, bucket, back);
  EXPECT_TRUE(back.equal(torch::tensor({0.0F, 0.0F, 2.0F, 0.0F, 4.0F, 5.0F, 6.0F, 7.0F})));
}

TEST(KeptEntries, AllOfThemAreTheGradientItself) {
  const World world = make_world(8, false);
  const KeptEntries kept(world.kept);
  Bucket bucket = world.bucket;
  bucket.gradient = torch::arange(8, torch::kFloat);
  const torch::Tensor packed = kept.pack(bucket);
  EXPECT_EQ(packed.data_ptr(), bucket.gradient.data_ptr());
  const torch::Tensor elsewhere = torch::zeros({8});
  kept.unpack(packed, bucket, elsewhere);
  kept.unpack(packed, bucket, bucket.gradient);
  EXPECT_TRUE(elsewhere.equal(torch::arange(8, torch::kFloat)));
  EXPECT_TRUE(bucket.gradient.equal(elsewhere));
}

TEST(KeptEntries, MayBeNoneOfATensor) {
  const World world = make_world(8, false);
  const KeptEntries kept({torch::zeros({4}, torch::kBool), torch::tensor({false, true, false, false})});
  Bucket bucket = world.bucket;
  bucket.gradient = torch::arange(8, torch::kFloat);
  const torch::Tensor packed = kept.pack(bucket);
  EXPECT_TRUE(packed.equal(torch::tensor({5.0F})));
  const torch::Tensor back = torch::full({8}, 99.0F);
  kept.unpack(packed, bucket, back);
  EXPECT_TRUE(back.equal(torch::tensor({0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 5.0F, 0.0F, 0.0F})));
}

TEST(KeptEntries, AreInSomeBlocksOnly) {
  const World world = make_world(10, false);
  const KeptEntries kept({torch::arange(5).eq(4), torch::arange(5).eq(0)});
  EXPECT_EQ(kept.kept_blocks(world.bucket, 2), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(kept.kept_blocks(world.bucket, 4), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(kept.kept_blocks(world.bucket, 100), (std::vector<bool>{true}));
}

TEST(KeptEntries, AreAMaskOfTheBucket) {
  const World world = make_world(5, true);  // of the first three, the first and the third are kept
  EXPECT_TRUE(
      KeptEntries(world.kept).mask(world.bucket).equal(torch::tensor({true, false, true, true, true})));
}

TEST(KeptEntries, TheOthersAreClearedWhateverTheyAre) {
  const World world = make_world(8, true);
  const torch::Tensor values = torch::tensor({1.0F, INFINITY, -2.0F, NAN, NAN, 3.0F, -INFINITY, 4.0F});
  KeptEntries(world.kept).clear_pruned(world.bucket, values);
  EXPECT_TRUE(values.narrow(0, 0, 4).equal(torch::tensor({1.0F, 0.0F, -2.0F, 0.0F})));
  EXPECT_TRUE(std::isnan(values[4].item<float>())) << "the second tensor is not pruned";
}

TEST(KeptEntries, AreCountedByRow) {
  const World world = make_world(12, false);  // two matrices of 2×3
  KeptEntries kept(world.kept);
  EXPECT_THAT(kept.counts(world.bucket.slices[0], 2), ElementsAre(3, 3));
  kept.adopt({torch::tensor({true, false, true, false, false, false}), torch::Tensor()});
  EXPECT_THAT(kept.counts(world.bucket.slices[0], 2), ElementsAre(2, 0));
  EXPECT_THAT(kept.counts(world.bucket.slices[1], 2), ElementsAre(3, 3));
  EXPECT_EQ(kept.count(world.bucket), 8);
}

}  // namespace
}  // namespace thinpipe::trainer
