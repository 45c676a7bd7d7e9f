// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/keyed_hash.hh"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// The authors' own vectors: the key and the message are 0, 1, 2 and so on.
std::string hash_of_first(std::size_t count) {
  HashKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  std::vector<std::byte> message;
  for (std::size_t i = 0; i < count; ++i) message.push_back(static_cast<std::byte>(i));
  std::string out;
  for (const std::byte each : keyed_hash(key, message))
    out += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return out;
}

TEST(KeyedHash, IsSipHash) {
  EXPECT_EQ(hash_of_first(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash_of_first(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash_of_first(7), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(hash_of_first(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(hash_of_first(63), "5150d1772f50834a503e069a973fbd7c");
}

}  // namespace
}  // namespace thinpipe::trainer
