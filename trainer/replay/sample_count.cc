// SPDX-License-Identifier: Apache-2.0
#include "trainer/replay/sample_count.hh"

#include <algorithm>

namespace thinpipe::trainer {

std::int64_t next_sample_count(const SampleMean& times, std::int64_t distinct,
                               std::int64_t steps_per_sample) {
  const std::int64_t count = times.count();
  const auto half_width_s = times.half_width();
  const bool known = half_width_s && *half_width_s <= wanted_precision_of_class * times.mean();
  if (known && count >= distinct) return count;
  constexpr double beyond_all = 1e9;  // for steps that take no time
  const double sample_s = times.mean() * static_cast<double>(steps_per_sample);
  const auto in_time = static_cast<std::int64_t>(std::min(beyond_all, max_s_of_class / sample_s));
  return std::min({std::max(2 * count, distinct), max_iterations_of_class / steps_per_sample, in_time});
}

}  // namespace thinpipe::trainer
