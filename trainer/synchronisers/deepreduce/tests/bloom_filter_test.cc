// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/bloom_filter.hh"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/synchronisers/deepreduce/bloom_choice.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns every `stride`-th number below n.
std::vector<std::uint32_t> every(std::uint32_t stride, std::uint32_t n) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = stride / 2; i < n; i += stride) out.push_back(i);
  return out;
}

BloomFilter filter_of(const std::vector<std::uint32_t>& members, double false_positive_rate) {
  BloomFilter filter(std::ssize(members), false_positive_rate);
  for (const std::uint32_t member : members) filter.insert(member);
  return filter;
}

TEST(Murmur3, GivesThePublishedHashes) {
  EXPECT_EQ(murmur3(0, 0), 0x2362F9DEU);
  EXPECT_EQ(murmur3(0x87654321, 0), 0xF55B516BU);
  EXPECT_EQ(murmur3(0x87654321, 0x5082EDEE), 0x2362F9DEU);
}

TEST(BloomFilter, HasTheBitsAndHashesOfItsEquations) {
  const BloomFilter filter(1000, 0.001);
  EXPECT_EQ(filter.bits(), 14378);  // 1000 · 9.96578 / 0.693147
  EXPECT_EQ(filter.hashes(), 10);
  EXPECT_EQ(BloomFilter::bytes_for(1000, 0.001), 1798);
  EXPECT_EQ(BloomFilter(1, 0.5).hashes(), 1);
  EXPECT_EQ(BloomFilter(1, 1e-310).hashes(), 1030) << "a rate whose inverse is not a finite number";
}

TEST(BloomFilter, OfNothingHoldsNothing) {
  EXPECT_THAT(BloomFilter(0, 0.001).positives(1000), IsEmpty());
}

TEST(BloomFilter, DeniesNoMemberAndTakesOthersAtItsRate) {
  constexpr std::uint32_t n = 1'000'000;
  for (const double rate : {0.1, 0.01, 0.001}) {
    const std::vector<std::uint32_t> members = every(100, n);
    const std::vector<std::uint32_t> positives = filter_of(members, rate).positives(n);
    EXPECT_TRUE(std::ranges::includes(positives, members)) << rate;
    // With whole numbers of hashes and bits, the rate becomes (1 - e^(-κr/m))^κ.
    const BloomFilter filter(std::ssize(members), rate);
    const double filled = 1 - std::exp(-filter.hashes() * static_cast<double>(members.size()) /
                                       static_cast<double>(filter.bits()));
    const double expected = std::pow(filled, filter.hashes()) * static_cast<double>(n - members.size());
    const auto false_positives = static_cast<double>(positives.size() - members.size());
    EXPECT_NEAR(false_positives, expected, 3 * std::sqrt(expected)) << rate;
    EXPECT_NEAR(expected, rate * n, 0.1 * rate * n) << rate;
  }
}

const RandomStream choice_stream{.seed = 1, .step = 2, .bucket = 3, .rank = 4};

TEST(RandomChoice, TakesAsManyAsAreWantedEachAsOften) {
  const std::vector<std::uint32_t> positives = {2, 3, 5, 7, 11, 13, 17, 19};
  EXPECT_EQ(choose_at_random(positives, 8, choice_stream), positives);
  EXPECT_THAT(choose_at_random(positives, 0, choice_stream), IsEmpty());
  constexpr int draws = 8000;
  std::map<std::uint32_t, int> taken;
  for (std::uint32_t step = 0; step < draws; ++step) {
    const auto chosen = choose_at_random(positives, 3, {.seed = 1, .step = step});
    ASSERT_THAT(chosen, SizeIs(3));
    ASSERT_TRUE(std::ranges::is_sorted(chosen));
    for (const std::uint32_t key : chosen) ++taken[key];
  }
  // 3/8 of the draws, within five standard deviations.
  for (const std::uint32_t key : positives)
    EXPECT_NEAR(taken[key], 3000, 5 * std::sqrt(8000 * 3 / 8.0 * 5 / 8)) << key;
}

TEST(RandomChoice, IsTheSameForTheSameStreamOnly) {
  const std::vector<std::uint32_t> positives = every(3, 3000);
  const auto chosen = choose_at_random(positives, 100, choice_stream);
  EXPECT_EQ(chosen, choose_at_random(positives, 100, choice_stream));
  RandomStream other = choice_stream;
  other.rank = 5;
  EXPECT_NE(chosen, choose_at_random(positives, 100, other));
}

// With one hash, positives conflict if they share its bit.
class ConflictChoice : public ::testing::Test {
 protected:
  const std::vector<std::uint32_t> members_ = {10, 20, 30, 40};
  const BloomFilter filter_ = filter_of(members_, 0.5);
  const std::vector<std::uint32_t> positives_ = filter_.positives(60);

  std::map<std::size_t, std::vector<std::uint32_t>> by_bit() const {
    std::map<std::size_t, std::vector<std::uint32_t>> out;
    for (const std::uint32_t positive : positives_) out[filter_.bit_of(positive, 0)].push_back(positive);
    return out;
  }
};

TEST_F(ConflictChoice, TakesOneOfEachSetInTurn) {
  ASSERT_EQ(filter_.hashes(), 1);
  const std::size_t sets = by_bit().size();
  ASSERT_GT(positives_.size(), sets);
  std::set<std::size_t> bits;
  for (const std::uint32_t key : choose_by_conflicts(filter_, positives_, sets, choice_stream)) {
    bits.insert(filter_.bit_of(key, 0));
  }
  EXPECT_THAT(bits, SizeIs(sets));
  EXPECT_THAT(choose_by_conflicts(filter_, positives_, sets + 1, choice_stream), SizeIs(sets + 1));
  EXPECT_EQ(choose_by_conflicts(filter_, positives_, positives_.size(), choice_stream), positives_);
}

TEST_F(ConflictChoice, BeginsWithTheSmallestSet) {
  const auto sets = by_bit();
  ASSERT_GE(sets.size(), 2U);
  const std::vector<std::uint32_t>& several = sets.begin()->second;
  ASSERT_GE(several.size(), 2U);
  const std::uint32_t alone = sets.rbegin()->second.front();
  std::vector<std::uint32_t> positives = {several[0], several[1], alone};
  std::ranges::sort(positives);
  EXPECT_THAT(choose_by_conflicts(filter_, positives, 1, choice_stream), ElementsAre(alone));
}

TEST_F(ConflictChoice, FindsMoreMembersThanARandomChoice) {
  constexpr std::uint32_t n = 100'000;
  const std::vector<std::uint32_t> members = every(100, n);
  const BloomFilter filter = filter_of(members, 0.01);  // about as many false positives as members
  const std::vector<std::uint32_t> positives = filter.positives(n);
  const auto found = [&](const std::vector<std::uint32_t>& chosen) {
    EXPECT_THAT(chosen, SizeIs(members.size()));
    EXPECT_TRUE(std::ranges::includes(positives, chosen));
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(chosen, members, std::back_inserter(both));
    return both.size();
  };
  EXPECT_GT(found(choose_by_conflicts(filter, positives, members.size(), choice_stream)),
            found(choose_at_random(positives, members.size(), choice_stream)) + 100);
}

}  // namespace
}  // namespace thinpipe::trainer
