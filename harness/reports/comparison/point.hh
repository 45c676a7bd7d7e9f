// SPDX-License-Identifier: Apache-2.0
// The runs of two sets of results at one point of a sweep: those that differ only in their seed. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// One side's runs at a point. The report outlives it.
struct PointSide {
  const Report* report = nullptr;
  const Json* group = nullptr;      // of Report::groups
  std::vector<std::size_t> runs{};  // indices into the report's runs

  const Json& row(std::size_t i) const { return report->runs.at(i); }
  const Digest& digest(std::size_t i) const { return report->digests.at(i); }
  std::string mode() const { return group->at("mode").get<std::string>(); }
  // Returns the indices of the completed runs.
  std::vector<std::size_t> completed() const;
};

struct PointPair {
  std::string name;
  PointSide a;
  PointSide b;
};

struct MatchedPoints {
  std::vector<PointPair> pairs;
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
};

// Matches the groups of two reports by label, mode and configuration. Experiments' names count if either side has
// several. A group whose name occurs once on each side has that partner, even if mode or configuration differ;
// otherwise it needs one of the same mode, and of several that of the same configuration. Others have no partner.
MatchedPoints match(const Report& a, const Report& b);

// Returns a line for each setting that differs between the runs of two sides, such as "/training/iterations: 100, 200".
// `one_sided`: receives the settings that only one side's records have, such as those of another version, and files at
// different places. Runs with the same id have the same configuration. The reports need configurations (Wanted::config).
std::vector<std::string> different_settings(const PointSide& a, const PointSide& b,
                                            std::vector<std::string>& one_sided);

}  // namespace thinpipe
