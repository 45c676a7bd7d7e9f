// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/sparkline.hh"

#include <algorithm>
#include <array>
#include <numeric>

namespace thinpipe {
namespace {

constexpr std::array<const char*, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const char* block_of(double value) {
  const double level = std::clamp(value, 0.0, 1.0) * static_cast<double>(blocks.size());
  return blocks[std::min(static_cast<std::size_t>(level), blocks.size() - 1)];
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t columns) {
  std::string line;
  const std::size_t count = std::min(columns, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * values.size() / count);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>((i + 1) * values.size() / count);
    line += block_of(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
  }
  return line;
}

}  // namespace thinpipe
