// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/philox.hh"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones}, {ones, ones, ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, FillsWithTheWordsOfConsecutiveLanes) {
  const RandomStream stream{.seed = 0x299f31d0'a4093822, .step = 7, .bucket = 3, .rank = 5};
  for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 257U}) {
    std::vector<std::uint32_t> words(size);
    fill_words(stream, words);
    std::vector<float> uniform(size);
    fill_uniform(stream, uniform);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t expected =
          philox({0xa4093822, 0x299f31d0}, {7, 3, 5, static_cast<std::uint32_t>(i / 4)})[i % 4];
      EXPECT_EQ(words[i], expected);
      EXPECT_EQ(uniform[i], static_cast<float>(expected >> 8U) / 16777216.0F);
    }
  }
}

TEST(Philox, FillsFromALaneOn) {
  const RandomStream stream{.seed = 5, .step = 7, .bucket = 3, .rank = 5};
  std::vector<float> whole(100);
  fill_uniform(stream, whole);
  std::vector<float> rest(100 - 64);
  fill_uniform(stream, rest, 64 / 4);
  EXPECT_TRUE(std::ranges::equal(rest, std::span(whole).subspan(64)));
}

TEST(Philox, UniformsLieInTheUnitIntervalWithTheRightMoments) {
  constexpr std::size_t count = 1 << 20;
  std::vector<float> uniform(count);
  fill_uniform({.seed = 1}, uniform);
  double sum = 0;
  double squares = 0;
  for (const float x : uniform) {
    ASSERT_GE(x, 0.0F);
    ASSERT_LT(x, 1.0F);
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.5, 5 * 0.2887 / 1024);  // five standard errors
  EXPECT_NEAR(squares / count - mean * mean, 1.0 / 12, 5 * 0.0745 / 1024);
}

TEST(Philox, StreamsThatDifferInOneMemberDiffer) {
  const auto first_word = [](const RandomStream& stream) {
    std::uint32_t word = 0;
    fill_words(stream, {&word, 1});
    return word;
  };
  const std::vector<std::uint32_t> words = {
      first_word({.seed = 1, .step = 1, .bucket = 1, .rank = 1}),
      first_word({.seed = 2, .step = 1, .bucket = 1, .rank = 1}),
      first_word({.seed = 1 + (1ULL << 32U), .step = 1, .bucket = 1, .rank = 1}),
      first_word({.seed = 1, .step = 2, .bucket = 1, .rank = 1}),
      first_word({.seed = 1, .step = 1, .bucket = 2, .rank = 1}),
      first_word({.seed = 1, .step = 1, .bucket = 1, .rank = 2}),
      first_word({.seed = 1, .step = 1, .bucket = 1, .rank = shared_rank}),
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(words[i], words[j]);
  }
}

}  // namespace
}  // namespace thinpipe::trainer
