// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/huffman_indices.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/deflate.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t most_gap_bytes = 5;
constexpr std::int64_t table_bytes = 100;   // about the size of a block's Huffman codes, ...
constexpr std::int64_t block_gaps = 16383;  // ... and the bytes that zlib codes with them

void append_gap(std::uint32_t gap, std::vector<std::uint8_t>& out) {
  for (; gap >= 0x80; gap >>= 7U) out.push_back(static_cast<std::uint8_t>(gap | 0x80U));
  out.push_back(static_cast<std::uint8_t>(gap));
}

// Removes a gap from the front of `in` and returns it.
std::uint64_t read_gap(std::span<const std::uint8_t>& in) {
  std::uint64_t gap = 0;
  for (unsigned shift = 0; shift < 7 * most_gap_bytes && !in.empty(); shift += 7) {
    const std::uint8_t byte = in.front();
    in = in.subspan(1);
    gap |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return gap;
  }
  throw CollectiveError("a gap between a sparse message's indices has no end");
}

// Returns the expected bits of a gap if each entry is kept with probability `kept`. Then a gap is geometric, and so
// are its 7-bit digits, independently of each other. All bytes share one code, so their number is multiplied by the
// entropy of their mixture:
//   Σ_s c_s log2(Σ c / c_s), with c_s the expected number of bytes s in a gap
double expected_bits_of_gap(double kept) {
  std::array<double, 256> counts{};
  double digit_exists = 1;
  for (std::int64_t digit = 0; digit < most_gap_bytes && digit_exists > 1e-12; ++digit) {
    const double q = std::pow(1 - kept, std::exp2(7 * digit));
    const double least = digit == 0 ? 0 : 1;  // of what remains of the gap
    const double continues = digit_exists * std::pow(q, 128 - least);
    for (std::size_t value = 0; value < 128; ++value) {
      const auto d = static_cast<double>(value);
      if (d >= least) counts[value] += digit_exists * (1 - q) * std::pow(q, d - least);
      counts[128 + value] += continues * (1 - q) * std::pow(q, d) / (1 - std::pow(q, 128));
    }
    digit_exists = continues;
  }
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double bits = 0;
  for (const double count : counts) bits += count > 0 ? count * std::log2(all / count) : 0;
  return bits;
}

class HuffmanIndices : public IndexCode {
 public:
  bool has_fixed_size() const override { return false; }

  // The gaps add up to less than n, so at most n / 2^7 take a second byte, and so on.
  std::int64_t bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0) return 0;
    const std::int64_t further = (n >> 7) + (n >> 14) + (n >> 21) + (n >> 28);
    return max_deflated_bytes(std::min(count + further, most_gap_bytes * count));
  }

  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0 || count == n) return bytes(n, count);
    const auto gaps = static_cast<double>(count);
    const double bits = gaps * expected_bits_of_gap(gaps / static_cast<double>(n));
    const std::int64_t tables = table_bytes * (1 + count / block_gaps);
    return std::min(bytes(n, count), tables + static_cast<std::int64_t>(std::ceil(bits / 8)));
  }

  void append(std::span<const std::uint32_t> indices, std::uint32_t /*n*/,
              std::vector<std::uint8_t>& out) const override {
    if (indices.empty()) return;
    std::vector<std::uint8_t> gaps;
    gaps.reserve(indices.size());
    std::uint32_t next = 0;
    for (const std::uint32_t index : indices) {
      append_gap(index - next, gaps);
      next = index + 1;
    }
    append_deflated(gaps, DeflateStages::huffman, out);
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    indices.clear();
    if (count == 0) return 0;
    std::span<const std::uint8_t> rest = in;
    const std::vector<std::uint8_t> bytes = read_deflated(rest, std::size_t{most_gap_bytes} * count);
    std::span<const std::uint8_t> gaps = bytes;
    indices.reserve(count);
    std::uint64_t next = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t index = next + read_gap(gaps);
      if (index >= n) {
        throw CollectiveError(fmt::format("index {} of a sparse message is not below {}", index, n));
      }
      indices.push_back(static_cast<std::uint32_t>(index));
      next = index + 1;
    }
    if (!gaps.empty()) throw CollectiveError("a sparse message has more indices than it says");
    return in.size() - rest.size();
  }
};

}  // namespace

std::unique_ptr<IndexCode> make_huffman_indices() {
  return std::make_unique<HuffmanIndices>();
}

}  // namespace thinpipe::trainer
