#include "trainer/synchronisers/sign_code.hh"

#include <algorithm>
#include <vector>

namespace thinpipe::trainer {
namespace {

constexpr std::size_t signs_per_byte = 8;

std::uint8_t byte_of_signs(std::span<const float> values) {
  std::uint32_t byte = 0;
  for (std::size_t b = 0; b < values.size(); ++b) {
    byte |= static_cast<std::uint32_t>(values[b] >= 0 ? 1 : 0) << b;
  }
  return static_cast<std::uint8_t>(byte);
}

void signs_of_byte(std::uint8_t byte, std::span<std::int8_t> signs) {
  for (std::size_t b = 0; b < signs.size(); ++b) {
    const std::int32_t bit = (std::int32_t{byte} >> b) & 1;
    signs[b] = static_cast<std::int8_t>(2 * bit - 1);
  }
}

}  // namespace

void pack_signs(std::span<const float> values, std::span<std::uint8_t> packed) {
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const std::span<const float> rest = values.subspan(i * signs_per_byte);
    packed[i] = byte_of_signs(rest.first(std::min(rest.size(), signs_per_byte)));
  }
}

void unpack_signs(std::span<const std::uint8_t> packed, std::span<std::int8_t> signs) {
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const std::span<std::int8_t> rest = signs.subspan(i * signs_per_byte);
    signs_of_byte(packed[i], rest.first(std::min(rest.size(), signs_per_byte)));
  }
}

void add_signs(std::span<const std::uint8_t> packed, std::span<const std::int64_t> group_sizes,
               std::span<const SignLevels> levels, std::span<float> values) {
  std::vector<std::int8_t> signs(values.size());
  unpack_signs(packed, signs);
  std::size_t begin = 0;
  for (std::size_t g = 0; g < group_sizes.size(); ++g) {
    const SignLevels group = levels[g];
    const std::size_t end = begin + static_cast<std::size_t>(group_sizes[g]);
    for (std::size_t i = begin; i < end; ++i) values[i] += signs[i] > 0 ? group.positive : group.negative;
    begin = end;
  }
}

}  // namespace thinpipe::trainer
