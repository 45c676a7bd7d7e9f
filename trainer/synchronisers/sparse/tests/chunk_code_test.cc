// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/chunk_code.hh"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

std::vector<std::uint8_t> encoded(const ChunkCode& code, const std::vector<float>& chunk) {
  std::vector<std::uint8_t> bytes;
  BitWriter writer(bytes);
  code.append(chunk, writer);
  writer.finish();
  return bytes;
}

std::vector<float> decoded(const ChunkCode& code, const std::vector<float>& chunk) {
  const std::vector<std::uint8_t> bytes = encoded(code, chunk);
  EXPECT_EQ(std::ssize(bytes), (code.bits() + 7) / 8);
  std::vector<float> out(chunk.size());
  BitReader reader(bytes);
  code.add(reader, out);
  return out;
}

TEST(ChunkCode, KeepsFloatsAsTheyAre) {
  EXPECT_EQ(decoded({5, 2, false}, {1, -7, 0.5F, 6, 0}), (std::vector<float>{0, -7, 0, 6, 0}));
  EXPECT_EQ(decoded({1, 9, false}, {3}), std::vector<float>{3}) << "an index among one entry takes no bits";
}

TEST(ChunkCode, ReplacesMagnitudesByTheMeanOfTheirSide) {
  // The mean magnitude is 4: 1, 2 and 3 are below, 10 above.
  EXPECT_EQ(decoded({4, 4, true}, {1, -2, 3, -10}), (std::vector<float>{2, -2, 2, -10}));
  EXPECT_EQ(decoded({3, 3, true}, {5, -5, 5}), (std::vector<float>{5, -5, 5}));
  EXPECT_EQ(decoded({3, 3, true}, {0, 0, 0}), (std::vector<float>{0, 0, 0}));
}

TEST(ChunkCode, AValueThatIsNotFiniteShows) {
  for (const bool two_bits : {true, false}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      const std::vector<float> out = decoded({4, 2, two_bits}, {1, bad, 3, 2});
      EXPECT_FALSE(std::isfinite(out[1])) << two_bits << bad;
    }
  }
}

TEST(ChunkCode, RefusesMessagesThatAreNotItsOwn) {
  const ChunkCode code(5, 2, false);
  std::vector<float> chunk(5);
  std::vector<std::uint8_t> bytes = encoded(code, {1, 2, 3, 4, 5});
  bytes[0] |= 7;  // index 7 of 5 entries
  BitReader wrong(bytes);
  EXPECT_THROW(code.add(wrong, chunk), CollectiveError);
  bytes.resize(4);
  BitReader shortened(bytes);
  EXPECT_THROW(code.add(shortened, chunk), CollectiveError);
}

}  // namespace
}  // namespace thinpipe::trainer
