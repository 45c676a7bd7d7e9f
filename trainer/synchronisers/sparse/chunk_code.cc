// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/chunk_code.hh"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

constexpr int float_bits = 32;

struct Magnitudes {
  float threshold = 0;
  std::array<float, 2> means = {};  // of those up to the threshold, and of those above

  std::uint32_t choice(float value) const { return std::abs(value) > threshold ? 1 : 0; }
};

// A value that is not finite makes all three NaN or infinite.
Magnitudes magnitudes_of(std::span<const float> chunk, const std::vector<std::uint32_t>& indices) {
  double sum = 0;
  for (const std::uint32_t index : indices) sum += std::abs(chunk[index]);
  Magnitudes out{.threshold = static_cast<float>(sum / static_cast<double>(indices.size()))};
  if (!std::isfinite(out.threshold)) {
    out.means.fill(out.threshold);
    return out;
  }
  std::array<double, 2> sums = {};
  std::array<double, 2> counts = {};
  for (const std::uint32_t index : indices) {
    const std::uint32_t choice = out.choice(chunk[index]);
    sums[choice] += std::abs(chunk[index]);
    counts[choice] += 1;
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    out.means[i] = counts[i] > 0 ? static_cast<float>(sums[i] / counts[i]) : 0;
  return out;
}

void append_float(float value, BitWriter& out) {
  out.append(std::bit_cast<std::uint32_t>(value), float_bits);
}

float read_float(BitReader& in) {
  return std::bit_cast<float>(in.read(float_bits));
}

}  // namespace

void ChunkCode::append(std::span<const float> chunk, BitWriter& out) const {
  const std::vector<std::uint32_t> indices = top_k_indices(chunk, static_cast<std::size_t>(count_));
  const Magnitudes magnitudes = two_bits_ ? magnitudes_of(chunk, indices) : Magnitudes{};
  if (two_bits_) {
    for (const float mean : magnitudes.means) append_float(mean, out);
  }
  for (const std::uint32_t index : indices) {
    const float value = chunk[index];
    out.append(index, index_bits());
    if (two_bits_) {
      out.append((std::signbit(value) ? 2U : 0U) + magnitudes.choice(value), 2);
    } else {
      append_float(value, out);
    }
  }
}

void ChunkCode::add(BitReader& in, std::span<float> chunk) const {
  std::array<float, 2> means = {};
  if (two_bits_) {
    for (float& mean : means) mean = read_float(in);
  }
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::uint32_t index = in.read(index_bits());
    if (index >= chunk.size()) {
      throw CollectiveError(
          fmt::format("a message about chunks has index {} in a chunk of {} entries", index, chunk.size()));
    }
    if (two_bits_) {
      const std::uint32_t code = in.read(2);
      const float magnitude = means[code % 2];
      chunk[index] += code >= 2 ? -magnitude : magnitude;
    } else {
      chunk[index] += read_float(in);
    }
  }
}

}  // namespace thinpipe::trainer
