// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/index_code.hh"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/deflate.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

using IndexSet = std::vector<std::uint32_t>;
using IndexBytes = std::vector<std::uint8_t>;

IndexBytes index_bytes(const std::string& code, const IndexSet& indices, std::uint32_t n) {
  IndexBytes out;
  make_index_code(code)->append(indices, n, out);
  return out;
}

IndexSet index_read(const std::string& code, const IndexBytes& bytes, std::uint32_t n, std::uint32_t count) {
  IndexSet out;
  make_index_code(code)->read(bytes, n, count, out);
  return out;
}

// Includes each index below n with the same probability.
IndexSet random_index_set(std::uint32_t n, double ratio, unsigned seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution kept(ratio);
  IndexSet out;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (kept(random)) out.push_back(i);
  }
  return out;
}

IndexSet index_range(std::uint32_t begin, std::uint32_t end) {
  IndexSet out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

constexpr std::uint32_t u16_block = 65536;

class EveryIndexCode : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryIndexCode, GivesBackSetsAtTheEdgesOfBytesAndBlocks) {
  const std::unique_ptr<IndexCode> code = make_index_code(GetParam());
  for (const std::uint32_t n :
       {1U, 2U, 7U, 8U, 9U, 1000U, u16_block - 1, u16_block, u16_block + 1, 2 * u16_block + 1}) {
    std::vector<IndexSet> sets = {
        {}, {0}, {n - 1}, index_range(0, n), index_range(n / 2, n), index_range(0, n / 3)};
    if (n > 1) sets.push_back({0, n - 1});
    if (n > u16_block) sets.push_back({u16_block - 1, u16_block});
    for (const IndexSet& set : sets) {
      const std::string what = fmt::format("{} of {}", set.size(), n);
      IndexBytes bytes = {0xAB};  // of an earlier message
      code->append(set, n, bytes);
      const auto own = std::ssize(bytes) - 1;
      if (code->has_fixed_size()) {
        EXPECT_EQ(own, code->bytes(n, std::ssize(set))) << what;
      } else {
        EXPECT_LE(own, code->bytes(n, std::ssize(set))) << what;
      }
      bytes.insert(bytes.end(), 11, 0xCD);  // and a later one
      IndexSet read = {1, 2, 3};
      EXPECT_EQ(code->read(std::span(bytes).subspan(1), n, static_cast<std::uint32_t>(set.size()), read),
                static_cast<std::size_t>(own))
          << what;
      EXPECT_EQ(read, set) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryIndexCode, ::testing::ValuesIn(index_code_names()),
                         [](const auto& instance) { return instance.param; });

TEST(IndexCode, RefusesIndicesThatDoNotAscendOrLieOutside) {
  EXPECT_EQ(index_read("u32", {1, 0, 0, 0, 2, 0, 0, 0}, 3, 2), (IndexSet{1, 2}));
  EXPECT_THROW(index_read("u32", {2, 0, 0, 0, 1, 0, 0, 0}, 3, 2), CollectiveError);
  EXPECT_THROW(index_read("u32", {1, 0, 0, 0, 1, 0, 0, 0}, 3, 2), CollectiveError) << "twice";
  EXPECT_THROW(index_read("u32", {1, 0, 0, 0, 3, 0, 0, 0}, 3, 2), CollectiveError) << "not below n";
  EXPECT_EQ(index_read("bitmap", {0b101}, 3, 2), (IndexSet{0, 2}));
  EXPECT_THROW(index_read("bitmap", {0b101}, 3, 1), CollectiveError) << "more than the count";
  EXPECT_THROW(index_read("bitmap", {0b1001}, 3, 2), CollectiveError) << "not below n";
  EXPECT_EQ(index_read("u16", {2, 0, 0, 0, 0, 0, 2, 0}, 3, 2), (IndexSet{0, 2}));
  EXPECT_THROW(index_read("u16", {1, 0, 0, 0, 0, 0, 2, 0}, 3, 2), CollectiveError) << "block count too small";
  EXPECT_THROW(index_read("u16", {3, 0, 0, 0, 0, 0, 2, 0}, 3, 2), CollectiveError) << "block count too large";
  EXPECT_THROW(index_read("golomb", {32, 0}, 3, 1), CollectiveError) << "no such parameter";
  EXPECT_EQ(index_read("run_length", {0b0001}, 3, 2), (IndexSet{0, 2}));
  EXPECT_THROW(index_read("run_length", {0b0011}, 3, 1), CollectiveError) << "more than the count";
  EXPECT_THROW(index_read("run_length", {0b000110}, 3, 1), CollectiveError) << "not below n";
  EXPECT_THROW(index_read("run_length", {0xFE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0, 0}, 3, 1), CollectiveError)
      << "a length of 33 bits";
}

// Returns the bytes of gaps in the code huffman.
IndexBytes huffman_of_gaps(const IndexBytes& gaps) {
  IndexBytes out;
  append_deflated(gaps, DeflateStages::huffman, out);
  return out;
}

TEST(IndexCode, RefusesGapsThatAreNotThoseOfItsIndices) {
  EXPECT_EQ(index_read("huffman", huffman_of_gaps({0, 1}), 3, 2), (IndexSet{0, 2}));
  EXPECT_THROW(index_read("huffman", huffman_of_gaps({0, 1}), 3, 1), CollectiveError)
      << "more than the count";
  EXPECT_THROW(index_read("huffman", huffman_of_gaps({0, 1}), 4, 3), CollectiveError) << "fewer";
  EXPECT_THROW(index_read("huffman", huffman_of_gaps({0, 2}), 3, 2), CollectiveError) << "not below n";
  EXPECT_THROW(index_read("huffman", huffman_of_gaps({0, 0x81}), 300, 2), CollectiveError) << "no end";
  EXPECT_THROW(index_read("huffman", huffman_of_gaps({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}), 300, 2),
               CollectiveError)
      << "six bytes";
}

TEST(IndexCode, LaysOutItsBytesAsDocumented) {
  const IndexSet set = {1, u16_block + 2};
  EXPECT_THAT(index_bytes("u32", set, u16_block + 3), ElementsAre(1, 0, 0, 0, 2, 0, 1, 0));
  EXPECT_THAT(index_bytes("u16", set, u16_block + 3), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0));
  EXPECT_THAT(index_bytes("bitmap", {0, 2, 9}, 10), ElementsAre(0b101, 0b10));
  // 2 of 8: b = 1. The gaps 2 and 5 less one are 1 (no ones, a zero and a 1) and 4 (two ones, a zero and a
  // 0).
  EXPECT_THAT(index_bytes("golomb", {1, 6}, 8), ElementsAre(1, 0b001110));
  // A one; runs of 1, 1 and 1, each a zero; 6 zeros (two ones, a zero and a 2); 1.
  EXPECT_THAT(index_bytes("run_length", {0, 2, 9}, 11), ElementsAre(0b00110001, 0b1));
  const IndexBytes bytes = index_bytes("huffman", {1, 200}, 300);
  std::span<const std::uint8_t> gaps = bytes;
  EXPECT_THAT(read_deflated(gaps, 10), ElementsAre(1, 198 % 128 + 128, 1));
}

// Random sets of which 1 in 10, 100 and 1000 entries are kept.
TEST(IndexCode, ExpectsAboutTheBytesOfRandomSets) {
  constexpr std::uint32_t n = 1 << 22;
  for (const double ratio : {0.1, 0.01, 0.001}) {
    const IndexSet set = random_index_set(n, ratio, 7);
    for (const char* name : {"golomb", "huffman", "run_length"}) {
      const auto expected = static_cast<double>(make_index_code(name)->expected_bytes(n, std::ssize(set)));
      EXPECT_NEAR(static_cast<double>(index_bytes(name, set, n).size()), expected, 0.03 * expected)
          << name << " " << ratio;
    }
  }
}

TEST(IndexCode, ExpectsNoMoreThanItsBound) {
  for (const std::string& name : index_code_names()) {
    const auto code = make_index_code(name);
    for (const std::int64_t n : {1, 2, 1000, 100'000}) {
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, n / 2, n})
        EXPECT_LE(code->expected_bytes(n, count), code->bytes(n, count))
            << name << " " << count << " of " << n;
    }
  }
}

TEST(Golomb, ChoosesTheParameterOfItsEquation) {
  EXPECT_EQ(golomb_parameter(0.1), 3);
  EXPECT_EQ(golomb_parameter(0.01), 6);
  EXPECT_EQ(golomb_parameter(0.001), 9);
  EXPECT_EQ(golomb_parameter(0.62), 0);
  EXPECT_EQ(golomb_parameter(1), 0);
  EXPECT_EQ(golomb_parameter(1e-15), 31);
}

TEST(Golomb, TakesTheBitsThatItsEquationGives) {
  constexpr std::uint32_t n = 1 << 22;
  for (const auto& [ratio, bits] :
       {std::pair(0.1, 4.756), std::pair(0.01, 8.108), std::pair(0.001, 11.495)}) {
    const IndexSet set = random_index_set(n, ratio, 7);
    const double mean_bits =
        8.0 * static_cast<double>(index_bytes("golomb", set, n).size()) / static_cast<double>(set.size());
    EXPECT_NEAR(mean_bits, bits, 0.02 * bits) << ratio;
  }
}

}  // namespace
}  // namespace thinpipe::trainer
