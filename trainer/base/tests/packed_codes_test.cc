// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/packed_codes.hh"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint8_t> packed(const std::vector<std::int8_t>& codes, int bits) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(packed_code_bytes(std::ssize(codes), bits)));
  pack_codes(codes, bits, out);
  return out;
}

TEST(PackedCodes, LieInTheOrderThatTheWireFormatSays) {
  // Biased by the largest code: 0, 1, 2, 1 in 2 bits each, then 2 and three codes of 0 as
  // padding, biased to 1.
  EXPECT_THAT(packed({-1, 0, 1, 0, 1}, 2), ElementsAre(0b01'10'01'00, 0b01'01'01'10));
  EXPECT_THAT(packed({-7, 7, 0}, 4), ElementsAre(0xe0, 0x77));
  EXPECT_THAT(packed({-127, 127, 0}, 8), ElementsAre(0x00, 0xfe, 0x7f));
}

}  // namespace
}  // namespace thinpipe::trainer
