// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/mask_tracker.hh"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Phase = MaskTracker::Phase;

// "1010": a mean that is non-zero at every 1.
torch::Tensor mean(const std::string& pattern) {
  torch::Tensor out = torch::zeros({std::ssize(pattern)});
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '1') out.data_ptr<float>()[i] = -0.5F;
  }
  return out;
}

void take_full_step(MaskTracker& tracker, const std::string& pattern) {
  tracker.stage_full(mean(pattern));
  tracker.commit();
}

MaskTracker observing(std::int64_t iterations, bool exact, bool packs_whole = false) {
  return MaskTracker::observed(4, {.exact = exact, .iterations = iterations}, packs_whole);
}

TEST(MaskTracker, DeclaredPacksFromTheFirstStepAndForGood) {
  MaskTracker tracker = MaskTracker::declared(mean("1001").ne(0), false);
  EXPECT_TRUE(tracker.is_packed());
  EXPECT_FALSE(tracker.must_agree());
  EXPECT_THAT(tracker.entries().indices(), ElementsAre(0, 3));
  take_full_step(tracker, "1111");  // after an escape
  EXPECT_TRUE(tracker.is_packed());
  EXPECT_THAT(tracker.entries().indices(), ElementsAre(0, 3));
}

// An escape whose mean is zero everywhere confirms an empty pattern at once: packed before and after.
TEST(MaskTracker, HasTheEntriesOfItsPatternAfterEachStep) {
  MaskTracker tracker = observing(1, false);
  take_full_step(tracker, "1010");
  take_full_step(tracker, "1010");
  ASSERT_TRUE(tracker.is_packed());
  take_full_step(tracker, "0000");
  MaskTracker restored = observing(1, false);
  restored.restore(tracker.state());
  EXPECT_EQ(tracker.is_packed(), restored.is_packed());
  EXPECT_TRUE(std::ranges::equal(tracker.entries().indices(), restored.entries().indices()));
}

TEST(MaskTracker, PacksPatternsThatKeepNothing) {
  EXPECT_THAT(MaskTracker::declared(mean("0000").ne(0), false).entries().indices(), IsEmpty());
  EXPECT_THAT(MaskTracker::declared(mean("").ne(0), true).entries().indices(), IsEmpty());
}

TEST(MaskTracker, AWholePatternIsPackedOnlyWhereThatIsWorthWhile) {
  EXPECT_FALSE(MaskTracker::declared(torch::ones({4}, torch::kBool), false).is_packed());
  EXPECT_TRUE(MaskTracker::declared(torch::ones({4}, torch::kBool), true).is_packed());
  for (const bool packs_whole : {false, true}) {
    MaskTracker tracker = observing(1, false, packs_whole);
    for (int step = 0; step < 2; ++step) take_full_step(tracker, "1111");
    EXPECT_EQ(tracker.is_packed(), packs_whole);
  }
}

TEST(MaskTracker, PacksOnceAsManyStepsHaveConfirmedThePattern) {
  MaskTracker tracker = observing(2, false);
  take_full_step(tracker, "1010");  // the pattern
  EXPECT_EQ(tracker.state().count, 0);
  take_full_step(tracker, "1010");
  EXPECT_EQ(tracker.state().count, 1);
  EXPECT_FALSE(tracker.is_packed());
  take_full_step(tracker, "1000");  // nothing new
  EXPECT_EQ(tracker.state().phase, Phase::unagreed);
  EXPECT_TRUE(tracker.must_agree());
  EXPECT_THAT(tracker.entries().indices(), ElementsAre(0, 2));
  tracker.stage_packed();
  tracker.commit();
  EXPECT_EQ(tracker.state().phase, Phase::packed);
  EXPECT_FALSE(tracker.must_agree());
  EXPECT_TRUE(tracker.is_packed());
}

TEST(MaskTracker, UnionGrowsWhileNewEntriesShow) {
  MaskTracker tracker = observing(2, false);
  for (const char* pattern : {"1000", "1000", "0010", "1000"}) take_full_step(tracker, pattern);
  EXPECT_EQ(tracker.state().count, 1) << "the third step showed something new";
  take_full_step(tracker, "0000");
  EXPECT_THAT(tracker.entries().indices(), ElementsAre(0, 2));
}

TEST(MaskTracker, ExactStartsAgainAtEveryDifference) {
  MaskTracker tracker = observing(2, true);
  for (const char* pattern : {"1010", "1010", "1000", "1010", "1010"}) take_full_step(tracker, pattern);
  EXPECT_FALSE(tracker.is_packed()) << "an entry that is sometimes zero";
  take_full_step(tracker, "1010");
  EXPECT_TRUE(tracker.is_packed());
}

TEST(MaskTracker, AnEscapeForgetsThePatternAndObservesTheSameStep) {
  for (const bool exact : {false, true}) {
    MaskTracker tracker = observing(1, exact);
    take_full_step(tracker, "1010");
    take_full_step(tracker, "1010");
    ASSERT_TRUE(tracker.is_packed());
    take_full_step(tracker, "0110");
    EXPECT_EQ(tracker.state().phase, Phase::full);
    EXPECT_EQ(tracker.state().count, 0);
    EXPECT_TRUE(tracker.state().reference.equal(mean("0110").ne(0)));
    take_full_step(tracker, "0110");
    EXPECT_THAT(tracker.entries().indices(), ElementsAre(1, 2));
  }
}

TEST(MaskTracker, AStepThatIsSkippedChangesNothing) {
  MaskTracker tracker = observing(1, false);
  take_full_step(tracker, "1010");
  tracker.stage_full(mean("1111"));
  tracker.discard();
  tracker.commit();  // without a staged step
  EXPECT_EQ(tracker.state().count, 0);
  EXPECT_TRUE(tracker.state().reference.equal(mean("1010").ne(0)));
  take_full_step(tracker, "1010");
  tracker.stage_packed();
  tracker.discard();
  EXPECT_TRUE(tracker.must_agree());
  tracker.stage_full(mean("1111"));
  tracker.discard();
  EXPECT_TRUE(tracker.is_packed());
}

TEST(MaskTracker, NegativeZeroIsZero) {
  MaskTracker tracker = observing(1, false);
  for (int step = 0; step < 2; ++step) {
    tracker.stage_full(torch::tensor({1.0F, -0.0F, 0.0F, 1e-40F}));
    tracker.commit();
  }
  EXPECT_THAT(tracker.entries().indices(), ElementsAre(0, 3));
}

TEST(MaskTracker, RestoresWhatItSaysOfItself) {
  for (int steps = 0; steps < 5; ++steps) {
    MaskTracker tracker = observing(2, false);
    for (int step = 0; step < steps; ++step) take_full_step(tracker, step < 3 ? "1010" : "0000");
    MaskTracker other = observing(2, false);
    other.restore(tracker.state());
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(other.is_packed(), tracker.is_packed());
      EXPECT_EQ(other.entries().indices(), tracker.entries().indices());
      EXPECT_EQ(other.hash(), tracker.hash());
      take_full_step(tracker, "1010");
      take_full_step(other, "1010");
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
