// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/sampled_top_k.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "trainer/synchronisers/quantised/random_index.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

constexpr int max_lowerings = 10;
constexpr float lowering = 0.8F;
constexpr double min_found_share = 0.8;        // of k
constexpr double samples_above_threshold = 2;  // minimum expected number

// These bits order like magnitudes, with NaN above infinity.
std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

constexpr auto bits_of_infinity = std::uint32_t{0x7f800000};

// One more than a multiple of 32, so that the sample covers different columns in the rows of a matrix.
std::size_t sample_stride(std::size_t n, const SampledSelection& selection) {
  const double wanted = std::max(std::ceil(selection.sample * static_cast<double>(n)),
                                 std::ceil(samples_above_threshold / selection.ratio));
  if (wanted >= static_cast<double>(n)) return 1;
  return (n / static_cast<std::size_t>(wanted) - 1) / 32 * 32 + 1;
}

std::uint32_t sampled_threshold(std::span<const float> values, std::size_t start, std::size_t stride,
                                double ratio) {
  std::vector<std::uint32_t> sample;
  sample.reserve(values.size() / stride + 1);
  for (std::size_t i = start; i < values.size(); i += stride) sample.push_back(magnitude_bits(values[i]));
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(ratio * static_cast<double>(sample.size()))) - 1;
  std::ranges::nth_element(sample, sample.begin() + rank, std::greater());
  return sample[static_cast<std::size_t>(rank)];
}

std::size_t count_from(std::span<const float> values, std::uint32_t threshold) {
  std::size_t count = 0;
  for (const float value : values) count += magnitude_bits(value) >= threshold ? 1 : 0;
  return count;
}

// count: the number of values that reach the threshold.
std::vector<std::uint32_t> indices_from(std::span<const float> values, std::uint32_t threshold,
                                        std::size_t count) {
  std::vector<std::uint32_t> indices;
  indices.reserve(count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (magnitude_bits(values[i]) >= threshold) indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

}  // namespace

std::vector<std::uint32_t> sampled_top_k_indices(std::span<const float> values,
                                                 const SampledSelection& selection) {
  const auto k = static_cast<std::size_t>(kept_count(selection.ratio, std::ssize(values)));
  const std::size_t stride = k == values.size() ? 1 : sample_stride(values.size(), selection);
  if (stride == 1) return top_k_indices(values, k);

  std::uint32_t threshold =
      sampled_threshold(values, random_index(selection.start, stride), stride, selection.ratio);
  std::size_t count = count_from(values, threshold);
  const auto too_few = [&] { return static_cast<double>(count) < min_found_share * static_cast<double>(k); };
  for (int i = 0; i < max_lowerings && threshold < bits_of_infinity && too_few(); ++i) {
    threshold = magnitude_bits(lowering * std::bit_cast<float>(threshold));
    count = count_from(values, threshold);
  }
  // A threshold of zero, as when most entries are zero, excludes nothing.
  if (count == values.size()) return top_k_indices(values, k);
  const std::vector<std::uint32_t> found = indices_from(values, threshold, count);
  if (found.size() <= k) return found;

  std::vector<float> candidates;
  candidates.reserve(found.size());
  for (const std::uint32_t index : found) candidates.push_back(values[index]);
  std::vector<std::uint32_t> largest = top_k_indices(candidates, k);
  for (std::uint32_t& index : largest) index = found[index];
  return largest;
}

}  // namespace thinpipe::trainer
