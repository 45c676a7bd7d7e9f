// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/deflate.hh"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint8_t> deflated(std::span<const std::uint8_t> bytes, DeflateStages stages) {
  std::vector<std::uint8_t> out;
  append_deflated(bytes, stages, out);
  return out;
}

// Bytes below `values`, all with the same probability.
std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned values) {
  std::mt19937 random(5);
  std::vector<std::uint8_t> out(count);
  std::ranges::generate(out, [&] { return static_cast<std::uint8_t>(random() % values); });
  return out;
}

class Deflate : public ::testing::TestWithParam<DeflateStages> {};

TEST_P(Deflate, GivesBackItsBytesAndLeavesLaterOnes) {
  for (const std::size_t count : {0U, 1U, 2U, 100U, 16383U, 16384U, 100'000U}) {
    for (const unsigned values : {1U, 7U, 256U}) {
      const std::vector<std::uint8_t> bytes = random_bytes(count, values);
      std::vector<std::uint8_t> stream = deflated(bytes, GetParam());
      EXPECT_LE(std::ssize(stream), max_deflated_bytes(static_cast<std::int64_t>(count)));
      stream.insert(stream.end(), {7, 8, 9});
      std::span<const std::uint8_t> in = stream;
      EXPECT_EQ(read_deflated(in, count), bytes) << count << " below " << values;
      EXPECT_THAT(in, ElementsAre(7, 8, 9));
    }
  }
}

TEST_P(Deflate, RefusesStreamsThatEndTooEarlyOrAreTooLong) {
  const std::vector<std::uint8_t> bytes = random_bytes(1000, 20);
  const std::vector<std::uint8_t> stream = deflated(bytes, GetParam());
  for (std::size_t kept = 0; kept < stream.size(); ++kept) {
    auto in = std::span(stream).first(kept);
    EXPECT_THROW(read_deflated(in, bytes.size()), CollectiveError) << kept;
  }
  std::span<const std::uint8_t> in = stream;
  EXPECT_THROW(read_deflated(in, bytes.size() - 1), CollectiveError);
}

INSTANTIATE_TEST_SUITE_P(AllStages, Deflate, ::testing::Values(DeflateStages::all, DeflateStages::huffman),
                         [](const auto& instance) {
                           return instance.param == DeflateStages::all ? "all" : "huffman";
                         });

TEST(DeflateStream, FindsRepeatedStringsOnlyInAllStages) {
  std::vector<std::uint8_t> bytes = random_bytes(1000, 256);
  bytes.insert(bytes.end(), bytes.begin(), bytes.begin() + 1000);
  EXPECT_LT(deflated(bytes, DeflateStages::all).size(), 1100);
  EXPECT_GT(deflated(bytes, DeflateStages::huffman).size(), 1900);
}

TEST(DeflateStream, RefusesReservedBlocks) {
  const std::vector<std::uint8_t> bytes = {0b111, 0, 0, 0};
  std::span<const std::uint8_t> in = bytes;
  EXPECT_THROW(read_deflated(in, 100), CollectiveError);
}

}  // namespace
}  // namespace thinpipe::trainer
