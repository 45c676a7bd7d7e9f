#include "trainer/synchronisers/nonzero_blocks.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/index_code.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

const IndexCode& block_bitmap() {
  static const std::unique_ptr<IndexCode> bitmap = make_index_code("bitmap");
  return *bitmap;
}

constexpr std::int64_t block_count(std::int64_t n, std::int64_t block_size) {
  return (n + block_size - 1) / block_size;
}

// By bits, all but the sign: an OR of integers is associative, so the compiler may use vectors.
bool is_zero_block(std::span<const float> block) {
  std::uint32_t bits = 0;
  for (const float value : block) bits |= std::bit_cast<std::uint32_t>(value) << 1U;
  return bits == 0;
}

}  // namespace

std::int64_t nonzero_blocks_bytes(std::int64_t n, std::int64_t block_size, std::int64_t values) {
  return block_bitmap().bytes(block_count(n, block_size), 0) + 4 * values;
}

torch::Tensor write_nonzero_blocks(std::span<const float> vector, std::int64_t block_size) {
  const auto size = static_cast<std::size_t>(block_size);
  std::vector<std::uint32_t> places;
  std::vector<float> values;
  for (std::size_t begin = 0; begin < vector.size(); begin += size) {
    const auto block = vector.subspan(begin, std::min(size, vector.size() - begin));
    if (is_zero_block(block)) continue;
    places.push_back(static_cast<std::uint32_t>(begin / size));
    values.insert(values.end(), block.begin(), block.end());
  }
  std::vector<std::uint8_t> bitmap;
  block_bitmap().append(places, static_cast<std::uint32_t>(block_count(std::ssize(vector), block_size)),
                        bitmap);
  const std::size_t value_bytes = sizeof(float) * values.size();
  torch::Tensor message =
      torch::empty({static_cast<std::int64_t>(bitmap.size() + value_bytes)}, torch::kByte);
  const auto bytes = elements<std::uint8_t>(message);
  std::ranges::copy(bitmap, bytes.begin());
  if (!values.empty()) std::memcpy(&bytes[bitmap.size()], values.data(), value_bytes);
  return message;
}

void add_nonzero_blocks(const torch::Tensor& message, std::int64_t block_size, std::span<float> vector) {
  const auto bytes = elements<std::uint8_t>(message);
  const auto size = static_cast<std::size_t>(block_size);
  const auto bitmap_bytes = static_cast<std::size_t>(nonzero_blocks_bytes(std::ssize(vector), block_size, 0));
  std::vector<float> values((std::max(bytes.size(), bitmap_bytes) - bitmap_bytes) / sizeof(float));
  // Only the last block can be shorter, and it comes last.
  const auto count = static_cast<std::uint32_t>(block_count(std::ssize(values), block_size));
  std::vector<std::uint32_t> places;
  block_bitmap().read(bytes, static_cast<std::uint32_t>(block_count(std::ssize(vector), block_size)), count,
                      places);

  std::size_t announced = 0;
  for (const std::uint32_t place : places) announced += std::min(size, vector.size() - place * size);
  if (bytes.size() != bitmap_bytes + sizeof(float) * announced) {
    throw CollectiveError(
        fmt::format("a message of non-zero blocks has {} bytes for a bitmap of {} and {} values",
                    bytes.size(), bitmap_bytes, announced));
  }
  if (!values.empty()) std::memcpy(values.data(), &bytes[bitmap_bytes], sizeof(float) * values.size());
  std::size_t next = 0;
  for (const std::uint32_t place : places) {
    const std::size_t begin = place * size;
    const std::size_t length = std::min(size, vector.size() - begin);
    for (std::size_t i = 0; i < length; ++i) vector[begin + i] += values[next + i];
    next += length;
  }
}

}  // namespace thinpipe::trainer
