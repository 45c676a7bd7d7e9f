// SPDX-License-Identifier: Apache-2.0
// The verdict on one quantity at one point of a sweep. docs/how-to/compare.md has the rule. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/reports/comparison/point.hh"
#include "harness/reports/comparison/quantity.hh"

namespace thinpipe {

enum class Verdict { reproduced, differs, cannot_be_judged };

// "reproduced", "differs", "cannot be judged".
std::string to_string(Verdict verdict);

// The verdict on several: "differs" if one differs, otherwise "cannot be judged" if one cannot be judged.
Verdict worse(Verdict one, Verdict other);

struct ComparisonRule {
  double tolerance = 0.05;  // ratios from 1 / (1 + tolerance) to 1 + tolerance are equal
  std::map<std::string, double> tolerance_of = {};  // by a quantity's name, instead of the other
  bool despite_network = false;                     // judge times over degraded networks and those not judged
  bool despite_configuration = false;               // judge runs whose configurations differ

  double within(const ComparedQuantity& quantity) const;
};

// The fewest seeds whose interval is judged.
inline constexpr std::size_t fewest_seeds = 3;

struct Judgement {
  const ComparedQuantity* quantity = nullptr;
  Json a = nullptr;  // summarise() of its values, over completed runs
  Json b = nullptr;
  Json ratio = nullptr;    // summarise() of B over A by seed; its interval if seeds are not paired
  std::int64_t seeds = 0;  // pairs with the same seed
  std::string compared =
      {};  // "seeds": ratios of runs with the same seed; "means": of means; "exactly"; "" if neither
  double tolerance = 0;
  Verdict verdict = Verdict::cannot_be_judged;
  std::string reason = {};  // of a verdict that the numbers do not explain
};

// Judges a quantity. Returns nullopt if it does not exist in either side's runs, such as times in mode converge.
std::optional<Judgement> judge(const ComparedQuantity& quantity, const PointPair& pair,
                               const ComparisonRule& rule);

}  // namespace thinpipe
