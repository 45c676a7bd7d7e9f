// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/index_code.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "trainer/synchronisers/sparse/bit_stream.hh"
#include "trainer/synchronisers/sparse/huffman_indices.hh"
#include "trainer/synchronisers/sparse/run_length_indices.hh"

namespace thinpipe::trainer {
namespace {

// Returns the first `bytes` bytes of `in`.
std::span<const std::uint8_t> take(std::span<const std::uint8_t> in, std::size_t bytes) {
  if (in.size() < bytes) {
    throw CollectiveError(
        fmt::format("indices of a sparse message take {} bytes, but it has {}", bytes, in.size()));
  }
  return in.first(bytes);
}

void check_ascending(std::span<const std::uint32_t> indices, std::uint32_t n) {
  const bool ascend = std::ranges::adjacent_find(indices, std::greater_equal()) == indices.end();
  if (!ascend || (!indices.empty() && indices.back() >= n)) {
    throw CollectiveError(fmt::format("indices of a sparse message must ascend and stay below {}", n));
  }
}

void append_bytes(std::vector<std::uint8_t>& out, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::uint8_t*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

class PlainIndices : public IndexCode {
 public:
  std::int64_t bytes(std::int64_t /*n*/, std::int64_t count) const override { return 4 * count; }

  void append(std::span<const std::uint32_t> indices, std::uint32_t /*n*/,
              std::vector<std::uint8_t>& out) const override {
    append_bytes(out, indices.data(), indices.size_bytes());
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    const auto own = take(in, std::size_t{4} * count);
    indices.resize(count);
    if (count > 0) std::memcpy(indices.data(), own.data(), own.size());
    check_ascending(indices, n);
    return own.size();
  }
};

class BlockIndices : public IndexCode {
 public:
  std::int64_t bytes(std::int64_t n, std::int64_t count) const override { return 4 * blocks(n) + 2 * count; }

  void append(std::span<const std::uint32_t> indices, std::uint32_t n,
              std::vector<std::uint8_t>& out) const override {
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(blocks(n)));
    std::vector<std::uint16_t> within;
    within.reserve(indices.size());
    for (const std::uint32_t index : indices) {
      ++counts[index >> block_bits];
      within.push_back(static_cast<std::uint16_t>(index));
    }
    append_bytes(out, counts.data(), 4 * counts.size());
    append_bytes(out, within.data(), 2 * within.size());
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    const auto own = take(in, static_cast<std::size_t>(bytes(n, count)));
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(blocks(n)));
    if (!counts.empty()) std::memcpy(counts.data(), own.data(), 4 * counts.size());
    if (std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) != count) {
      throw CollectiveError("the block counts of a sparse message do not add up to its count");
    }
    auto rest = own.subspan(4 * counts.size());
    indices.clear();
    indices.reserve(count);
    for (std::uint32_t block = 0; block < counts.size(); ++block) {
      for (std::uint32_t i = 0; i < counts[block]; ++i, rest = rest.subspan(2)) {
        std::uint16_t within = 0;
        std::memcpy(&within, rest.data(), sizeof within);
        indices.push_back((block << block_bits) | within);
      }
    }
    check_ascending(indices, n);
    return own.size();
  }

 private:
  static constexpr std::uint32_t block_bits = 16;
  static constexpr std::int64_t blocks(std::int64_t n) { return (n + 0xffff) >> block_bits; }
};

class BitmapIndices : public IndexCode {
 public:
  std::int64_t bytes(std::int64_t n, std::int64_t /*count*/) const override { return (n + 7) / 8; }

  void append(std::span<const std::uint32_t> indices, std::uint32_t n,
              std::vector<std::uint8_t>& out) const override {
    const std::size_t begin = out.size();
    out.resize(begin + static_cast<std::size_t>(bytes(n, 0)));
    for (const std::uint32_t index : indices) {
      out[begin + index / 8] |= static_cast<std::uint8_t>(1U << (index % 8));
    }
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    const auto own = take(in, static_cast<std::size_t>(bytes(n, 0)));
    indices.clear();
    indices.reserve(count);
    for (std::size_t at = 0; at < own.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, &own[at], std::min(sizeof word, own.size() - at));
      for (; word != 0; word &= word - 1) {
        indices.push_back(static_cast<std::uint32_t>(8 * at) +
                          static_cast<std::uint32_t>(std::countr_zero(word)));
      }
    }
    if (indices.size() != count) throw CollectiveError("the bitmap of a sparse message has another count");
    check_ascending(indices, n);
    return own.size();
  }
};

class GolombIndices : public IndexCode {
 public:
  bool has_fixed_size() const override { return false; }

  // The ones of all gaps together are at most n / 2^b.
  std::int64_t bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0) return 1;
    const int b = parameter(n, count);
    return 1 + (count * (b + 1) + (n >> b) + 7) / 8;
  }

  // If each entry is kept with probability p, a gap takes b + 1 / (1 - (1 - p)^(2^b)) bits.
  std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const override {
    if (count == 0) return bytes(n, count);
    const int b = parameter(n, count);
    const double kept = static_cast<double>(count) / static_cast<double>(n);
    const double bits_of_gap = b + 1 / (1 - std::pow(1 - kept, std::exp2(b)));
    const double bits = static_cast<double>(count) * bits_of_gap;
    return std::min(bytes(n, count), 1 + static_cast<std::int64_t>(std::ceil(bits / 8)));
  }

  void append(std::span<const std::uint32_t> indices, std::uint32_t n,
              std::vector<std::uint8_t>& out) const override {
    const int b = parameter(n, std::ssize(indices));
    out.push_back(static_cast<std::uint8_t>(b));
    BitWriter bits(out);
    std::uint32_t next = 0;
    for (const std::uint32_t index : indices) {
      const std::uint32_t gap = index - next;  // d - 1
      bits.append_unary(gap >> b);
      bits.append(gap & ((std::uint32_t{1} << b) - 1), b);
      next = index + 1;
    }
    bits.finish();
  }

  std::size_t read(std::span<const std::uint8_t> in, std::uint32_t n, std::uint32_t count,
                   std::vector<std::uint32_t>& indices) const override {
    const int b = take(in, 1)[0];
    if (b > largest_parameter) throw CollectiveError(fmt::format("a Golomb parameter of {}", b));
    BitReader bits(in.subspan(1));
    indices.clear();
    indices.reserve(count);
    std::uint64_t next = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t ones = bits.read_unary();
      const std::uint64_t index = next + (ones << b) + bits.read(b);
      if (index >= n)
        throw CollectiveError(fmt::format("index {} of a sparse message is not below {}", index, n));
      indices.push_back(static_cast<std::uint32_t>(index));
      next = index + 1;
    }
    return 1 + bits.bytes_read();
  }

 private:
  static constexpr int largest_parameter = 31;

  static int parameter(std::int64_t n, std::int64_t count) {
    return count == 0 ? 0 : golomb_parameter(static_cast<double>(count) / static_cast<double>(n));
  }
};

using Make = std::function<std::unique_ptr<IndexCode>()>;

const std::map<std::string, Make>& codes() {
  static const std::map<std::string, Make> all = {
      {"bitmap", [] { return std::make_unique<BitmapIndices>(); }},
      {"golomb", [] { return std::make_unique<GolombIndices>(); }},
      {"huffman", make_huffman_indices},
      {"run_length", make_run_length_indices},
      {"u16", [] { return std::make_unique<BlockIndices>(); }},
      {"u32", [] { return std::make_unique<PlainIndices>(); }},
  };
  return all;
}

}  // namespace

std::unique_ptr<IndexCode> make_index_code(const std::string& name) {
  return codes().at(name)();
}

std::vector<std::string> index_code_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : codes()) names.push_back(name);
  return names;
}

int golomb_parameter(double ratio) {
  if (ratio >= 1) return 0;
  const double exponent = std::log2(std::log(std::numbers::phi - 1) / std::log1p(-ratio));
  return std::clamp(1 + static_cast<int>(std::floor(exponent)), 0, 31);
}

}  // namespace thinpipe::trainer
