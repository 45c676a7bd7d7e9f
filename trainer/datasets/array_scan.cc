// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/array_scan.hh"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t stretch_bytes = std::int64_t{4} << 20;

}  // namespace

void for_each_stretch(const torch::Tensor& array,
                      const std::function<void(const torch::Tensor& rows, std::int64_t begin)>& visit) {
  const std::int64_t count = array.size(0);
  if (count == 0) return;
  const std::int64_t row_bytes = array.numel() / count * static_cast<std::int64_t>(array.element_size());
  const std::int64_t rows = std::max<std::int64_t>(1, stretch_bytes / std::max<std::int64_t>(1, row_bytes));
  for (std::int64_t begin = 0; begin < count; begin += rows) {
    visit(array.narrow(0, begin, std::min(rows, count - begin)), begin);
  }
}

void check_finite(const torch::Tensor& array, const std::string& name) {
  for_each_stretch(array, [&](const torch::Tensor& rows, std::int64_t begin) {
    const torch::Tensor finite = torch::isfinite(rows).flatten(1).all(1);
    if (finite.all().item<bool>()) return;
    throw Error(fmt::format("{} has a number that is NaN or infinite in example {}", name,
                            begin + finite.logical_not().nonzero()[0].item<std::int64_t>()));
  });
}

Range range_of(const torch::Tensor& integers) {
  Range range{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for_each_stretch(integers, [&](const torch::Tensor& rows, std::int64_t /*begin*/) {
    range.least = std::min(range.least, rows.min().item<std::int64_t>());
    range.largest = std::max(range.largest, rows.max().item<std::int64_t>());
  });
  return range;
}

std::int64_t row_outside(const torch::Tensor& integers, const Range& range) {
  std::int64_t found = -1;
  for_each_stretch(integers, [&](const torch::Tensor& rows, std::int64_t begin) {
    if (found >= 0) return;
    const torch::Tensor numbers = rows.to(torch::kInt64).reshape({rows.size(0), -1});
    const torch::Tensor outside = (numbers.lt(range.least) | numbers.gt(range.largest)).any(1);
    if (outside.any().item<bool>()) found = begin + outside.nonzero()[0].item<std::int64_t>();
  });
  return found;
}

Moments channel_moments(const torch::Tensor& images, double unit) {
  const std::int64_t channels = images.size(1);
  const auto count = static_cast<double>(images.numel() / channels);
  const auto mean_over_all = [&](const std::function<torch::Tensor(const torch::Tensor& values)>& of_values) {
    torch::Tensor sums = torch::zeros({channels}, torch::kFloat64);
    for_each_stretch(images, [&](const torch::Tensor& rows, std::int64_t /*begin*/) {
      sums += of_values(rows.to(torch::kFloat64)).sum(std::vector<std::int64_t>{0, 2, 3});
    });
    return sums / count;
  };
  // Two passes, because the difference of two large sums would have few exact digits.
  const torch::Tensor mean = mean_over_all([](const torch::Tensor& values) { return values; });
  const torch::Tensor centre = mean.view({1, channels, 1, 1});
  const torch::Tensor variance =
      mean_over_all([&](const torch::Tensor& values) { return (values - centre).square(); });
  Moments moments;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double deviation = variance[c].sqrt().item<double>();
    moments.mean.push_back(mean[c].item<double>() / unit);
    moments.standard_deviation.push_back(deviation > 0 ? deviation / unit : 1);
  }
  return moments;
}

}  // namespace thinpipe::trainer
