// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/walsh_hadamard.hh"

#include <algorithm>
#include <array>
#include <cmath>

namespace thinpipe::trainer {
namespace {

// For distances below this, vector registers hold both entries of a pair. These are done in one pass.
constexpr std::size_t in_registers = 8;

void add_and_subtract(float* __restrict a, float* __restrict b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    b[i] = a[i] - b[i];
    a[i] = sum;
  }
}

// Transforms in_registers consecutive values over all distances below in_registers. They stay in registers,
// because the loop bounds are constants.
void transform_near(float* values) {
  std::array<float, in_registers> v{};
  std::copy_n(values, in_registers, v.begin());
  for (std::size_t distance = 1; distance < in_registers; distance *= 2) {
    for (std::size_t i = 0; i < in_registers; ++i) {
      if ((i & distance) != 0) continue;
      const float sum = v[i] + v[i + distance];
      v[i + distance] = v[i] - v[i + distance];
      v[i] = sum;
    }
  }
  std::ranges::copy(v, values);
}

}  // namespace

void walsh_hadamard(std::span<float> values) {
  const std::size_t n = values.size();
  std::size_t distance = 1;
  if (n >= in_registers) {
    for (std::size_t begin = 0; begin < n; begin += in_registers) transform_near(&values[begin]);
    distance = in_registers;
  }
  for (; distance < n; distance *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * distance) {
      add_and_subtract(&values[begin], &values[begin + distance], distance);
    }
  }
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (float& value : values) value *= scale;
}

}  // namespace thinpipe::trainer
