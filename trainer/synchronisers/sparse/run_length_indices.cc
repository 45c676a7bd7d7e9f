// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/run_length_indices.hh"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "trainer/synchronisers/sparse/bit_stream.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint32_t longest_prefix = 31;  // of a length below 2^32

void append_run(std::uint32_t length, BitWriter& bits) {
  const auto prefix = static_cast<std::uint32_t>(std::bit_width(length)) - 1;
  bits.append_unary(prefix);
  bits.append(length - (std::uint32_t{1} << prefix), static_cast<int>(prefix));
}

std::uint32_t read_run(BitReader& bits) {
  const std::uint32_t prefix = bits.read_unary();
  if (prefix > longest_prefix) {
    throw CollectiveError(fmt::format("a run of a sparse message's bitmap has a length of {} bits", prefix));
  }
  return (std::uint32_t{1} << prefix) | bits.read(static_cast<int>(prefix));
}

// Returns the largest number of bits of at most `runs` lengths that add up to `sum`. log2 is concave, so k
// lengths take at most k (2 log2(sum / k) + 1) bits, which is largest at k = sum / 2^(1 / ln 2 - 1/2).
double most_bits_of_runs(double runs, double sum) {
  constexpr double best_length = 1.9221;
  const double k = std::min(runs, sum / best_length);
  return k > 0 ? k * (2 * std::log2(sum / k) + 1) : 0;
}

// Returns the expected bits of a length that ends after each entry with probability `end`:
//   1 + 2 Σ_j P(length >= 2^j), over j from 1
double expected_bits_of_run(double end) {
  double bits = 1;
  for (double least = 2; least < 1e10; least *= 2) bits += 2 * std::pow(1 - end, least - 1);
  return bits;
}

class RunLengthIndices : public IndexCode {
 public:
  bool has_fixed_size() const override { return false; }

  std::int64_t bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0) return 0;
    const auto ones = static_cast<double>(count);
    const double bits =
        1 + most_bits_of_runs(ones, static_cast<double>(n - count)) + most_bits_of_runs(ones, ones);
    return 1 + static_cast<std::int64_t>(std::ceil(bits / 8));
  }

  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0) return 0;
    const double ratio = static_cast<double>(count) / static_cast<double>(n);
    const double runs = static_cast<double>(count) * (1 - ratio);
    const double bits = 1 + runs * (expected_bits_of_run(ratio) + expected_bits_of_run(1 - ratio));
    return std::min(bytes(n, count), static_cast<std::int64_t>(std::ceil(bits / 8)));
  }

  void append(std::span<const std::uint32_t> indices, std::uint32_t /*n*/,
              std::vector<std::uint8_t>& out) const override {
    if (indices.empty()) return;
    BitWriter bits(out);
    bits.append(indices.front() == 0 ? 1U : 0U, 1);
    std::uint32_t next = 0;  // the first entry that no run covers
    for (std::size_t begin = 0; begin < indices.size();) {
      std::size_t end = begin + 1;
      while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
      if (indices[begin] > next) append_run(indices[begin] - next, bits);
      append_run(static_cast<std::uint32_t>(end - begin), bits);
      next = indices[end - 1] + 1;
      begin = end;
    }
    bits.finish();
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    indices.clear();
    if (count == 0) return 0;
    indices.reserve(count);
    BitReader bits(in);
    bool is_one = bits.read(1) != 0;
    for (std::uint32_t next = 0; indices.size() < count; is_one = !is_one) {
      const std::uint32_t length = read_run(bits);
      if (length > n - next || (is_one && length > count - indices.size())) {
        throw CollectiveError(
            fmt::format("the runs of a sparse message's bitmap exceed {} of {} entries", count, n));
      }
      for (std::uint32_t i = 0; is_one && i < length; ++i) indices.push_back(next + i);
      next += length;
    }
    return bits.bytes_read();
  }
};

}  // namespace

std::unique_ptr<IndexCode> make_run_length_indices() {
  return std::make_unique<RunLengthIndices>();
}

}  // namespace thinpipe::trainer
