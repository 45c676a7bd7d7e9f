// SPDX-License-Identifier: Apache-2.0
#include "common/support/nearest.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thinpipe {
namespace {

// Returns the number of edits between two names, counting a swap of neighbours, a common typing error, as one
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({substitute, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const bool prefix =
        !name.empty() && !candidate.empty() && (candidate.starts_with(name) || name.starts_with(candidate));
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t longest = std::max(name.size(), candidate.size());
    if (!prefix && 3 * distance > longest) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  std::string out;
  if (const auto match = nearest(name, candidates)) out += fmt::format("; did you mean \"{}\"?", *match);
  return fmt::format("{}{}known: {}", out, out.empty() ? "; " : " ", fmt::join(candidates, ", "));
}

}  // namespace thinpipe
