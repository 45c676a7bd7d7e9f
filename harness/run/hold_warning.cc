// SPDX-License-Identifier: Apache-2.0
#include "harness/run/hold_warning.hh"

#include <fmt/format.h>

#include "harness/records/record_view.hh"

namespace thinpipe {

std::optional<std::string> warn_of_few_evaluations(std::size_t evaluations, const Json& config) {
  const std::int64_t hold = hold_of(config);
  if (config.value("targets", Json::array()).empty() || evaluations >= static_cast<std::size_t>(hold))
    return std::nullopt;
  return fmt::format(
      "its curve has {} evaluations, but a target must be held for {}: evaluate more often, or set \"hold\" to 1",
      evaluations, hold);
}

}  // namespace thinpipe
