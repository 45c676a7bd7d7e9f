// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/keyed_hash.hh"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t word_bytes = 8;

// Names and constants are the paper's.
struct SipState {
  std::uint64_t v0 = 0;
  std::uint64_t v1 = 0;
  std::uint64_t v2 = 0;
  std::uint64_t v3 = 0;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }

  std::uint64_t finish() {
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

std::uint64_t word_at(std::span<const std::byte> bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, bytes.data(), std::min(bytes.size(), word_bytes));
  return out;
}

}  // namespace

KeyedHash keyed_hash(const HashKey& key, std::span<const std::byte> message) {
  const std::uint64_t k0 = word_at(key);
  const std::uint64_t k1 = word_at(std::span(key).subspan(word_bytes));
  SipState state{.v0 = k0 ^ 0x736f6d6570736575,
                 .v1 = k1 ^ 0x646f72616e646f6d ^ 0xee,
                 .v2 = k0 ^ 0x6c7967656e657261,
                 .v3 = k1 ^ 0x7465646279746573};
  const std::uint64_t size = message.size();
  for (; message.size() >= word_bytes; message = message.subspan(word_bytes)) state.take(word_at(message));
  state.take((message.empty() ? 0 : word_at(message)) | size << 56);
  state.v2 ^= 0xee;
  const std::uint64_t first = state.finish();
  state.v1 ^= 0xdd;
  const std::uint64_t second = state.finish();
  KeyedHash out;
  std::memcpy(out.data(), &first, word_bytes);
  std::memcpy(out.data() + word_bytes, &second, word_bytes);
  return out;
}

}  // namespace thinpipe::trainer
