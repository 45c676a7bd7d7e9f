#include "trainer/synchronisers/quantised/packed_codes.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little);

// Four codes lie in a word, one in each byte, biased so that none is negative. Shifts bring them together:
// with 2 bits into the lowest byte, with 4 into the lowest two, as 16 bits of the word.
constexpr std::size_t codes_per_word = 4;

template <int bits>
struct Word;

template <>
struct Word<2> {
  using Packed = std::uint8_t;
  static Packed pack(std::uint32_t word) {
    return static_cast<Packed>(word | (word >> 6U) | (word >> 12U) | (word >> 18U));
  }
  static std::uint32_t unpack(Packed packed) {
    const std::uint32_t word = packed;
    return (word | (word << 6U) | (word << 12U) | (word << 18U)) & 0x03030303U;
  }
};

template <>
struct Word<4> {
  using Packed = std::uint16_t;
  static Packed pack(std::uint32_t word) {
    const std::uint32_t pairs = (word | (word >> 4U)) & 0x00ff00ffU;
    return static_cast<Packed>(pairs | (pairs >> 8U));
  }
  static std::uint32_t unpack(Packed packed) {
    const std::uint32_t word = packed;
    const std::uint32_t pairs = (word | (word << 8U)) & 0x00ff00ffU;
    return (pairs | (pairs << 4U)) & 0x0f0f0f0fU;
  }
};

template <>
struct Word<8> {
  using Packed = std::uint32_t;
  static Packed pack(std::uint32_t word) { return word; }
  static std::uint32_t unpack(Packed packed) { return packed; }
};

// No byte carries into the next: biased codes are 0 to 2 * largest, which a byte holds.
template <int bits>
void pack_word(const std::int8_t* codes, std::uint8_t* packed) {
  std::array<std::uint8_t, codes_per_word> biased{};
  for (std::size_t i = 0; i < codes_per_word; ++i) {
    biased[i] = static_cast<std::uint8_t>(codes[i] + largest_code(bits));
  }
  const auto out = Word<bits>::pack(std::bit_cast<std::uint32_t>(biased));
  std::memcpy(packed, &out, sizeof out);
}

template <int bits>
void unpack_word(const std::uint8_t* packed, std::int8_t* codes) {
  typename Word<bits>::Packed in{};
  std::memcpy(&in, packed, sizeof in);
  const auto biased = std::bit_cast<std::array<std::uint8_t, codes_per_word>>(Word<bits>::unpack(in));
  for (std::size_t i = 0; i < codes_per_word; ++i) {
    codes[i] = static_cast<std::int8_t>(biased[i] - largest_code(bits));
  }
}

template <int bits>
void pack(std::span<const std::int8_t> codes, std::span<std::uint8_t> packed) {
  constexpr std::size_t bytes = sizeof(typename Word<bits>::Packed);
  const std::size_t words = codes.size() / codes_per_word;
  for (std::size_t w = 0; w < words; ++w) {
    pack_word<bits>(&codes[w * codes_per_word], &packed[w * bytes]);
  }
  const auto rest = codes.subspan(words * codes_per_word);
  if (rest.empty()) return;
  std::array<std::int8_t, codes_per_word> padded{};
  std::ranges::copy(rest, padded.begin());
  std::array<std::uint8_t, bytes> last{};
  pack_word<bits>(padded.data(), last.data());
  const auto tail = packed.subspan(words * bytes);
  std::copy_n(last.begin(), tail.size(), tail.begin());
}

template <int bits>
void unpack(std::span<const std::uint8_t> packed, std::span<std::int8_t> codes) {
  constexpr std::size_t bytes = sizeof(typename Word<bits>::Packed);
  const std::size_t words = codes.size() / codes_per_word;
  for (std::size_t w = 0; w < words; ++w) {
    unpack_word<bits>(&packed[w * bytes], &codes[w * codes_per_word]);
  }
  const auto rest = codes.subspan(words * codes_per_word);
  if (rest.empty()) return;
  std::array<std::uint8_t, bytes> last{};
  std::ranges::copy(packed.subspan(words * bytes), last.begin());
  std::array<std::int8_t, codes_per_word> padded{};
  unpack_word<bits>(last.data(), padded.data());
  std::copy_n(padded.begin(), rest.size(), rest.begin());
}

}  // namespace

void pack_codes(std::span<const std::int8_t> codes, int bits, std::span<std::uint8_t> packed) {
  if (bits == 2) return pack<2>(codes, packed);
  if (bits == 4) return pack<4>(codes, packed);
  pack<8>(codes, packed);
}

void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::int8_t> codes) {
  if (bits == 2) return unpack<2>(packed, codes);
  if (bits == 4) return unpack<4>(packed, codes);
  unpack<8>(packed, codes);
}

}  // namespace thinpipe::trainer
