// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/event_file.hh"

#include <bit>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = (value << 8U) | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 0xFU];
  }
  return out;
}

// Takes one record off the front, checks its framing and returns the event in it.
std::string take_event(std::string_view& bytes) {
  EXPECT_GE(bytes.size(), 12);
  const std::uint64_t length = little_endian(bytes.substr(0, 8));
  EXPECT_EQ(little_endian(bytes.substr(8, 4)), masked_crc32c(bytes.substr(0, 8)));
  const std::string event(bytes.substr(12, length));
  EXPECT_EQ(event.size(), length);
  EXPECT_EQ(little_endian(bytes.substr(12 + length, 4)), masked_crc32c(event));
  bytes.remove_prefix(16 + length);
  return event;
}

// CRC-32C of "123456789", the check value that the CRC's definition comes with, is E3069283. By hand: rotated
// right by 15 bits that is (E3069283 >> 15) = 1C60D, and its low 15 bits 1283 << 17 = 25060000, together
// 2507C60D; plus A282EAD8 gives C78AB0E5.
TEST(EventFile, MasksChecksums) {
  EXPECT_EQ(masked_crc32c("123456789"), 0xC78AB0E5U);
  EXPECT_EQ(masked_crc32c(""), 0xA282EAD8U);  // the CRC of nothing is 0
}

TEST(EventFile, BeginsWithTheVersionOfTheFormat) {
  const EventFile file(1.0);
  std::string_view rest = file.bytes();
  // Field 1, eight bytes: 1.0. Field 3, 13 bytes: "brain.Event:2".
  EXPECT_EQ(hex(take_event(rest)),
            "09000000000000f03f"
            "1a0d" +
                hex("brain.Event:2"));
  EXPECT_TRUE(rest.empty());
}

TEST(EventFile, EncodesTheScalarsOfAStep) {
  EventFile file(1.0);
  file.add(2.5, 300, {{"a", 0.5}, {"bc", -2}});
  std::string_view rest = file.bytes();
  take_event(rest);
  // Field 1: 2.5. Field 2: 300 = 10 0101100 in groups of seven bits, the lowest first. Field 5, 21 bytes: the
  // summary, with two values (field 1), each with its tag (field 1) and a float (field 2).
  EXPECT_EQ(hex(take_event(rest)),
            "090000000000000440"
            "10ac02"
            "2a15"
            "0a08"
            "0a0161"
            "150000003f"
            "0a09"
            "0a026263"
            "15000000c0");
  EXPECT_TRUE(rest.empty());
}

TEST(EventFile, KeepsEventsInTheirOrder) {
  EventFile file(0.0);
  for (int step = 0; step < 3; ++step) file.add(step, step, {});
  std::string_view rest = file.bytes();
  take_event(rest);
  for (int step = 0; step < 3; ++step) {
    const std::string event = take_event(rest);
    EXPECT_DOUBLE_EQ(std::bit_cast<double>(little_endian(std::string_view(event).substr(1, 8))), step);
  }
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace thinpipe
