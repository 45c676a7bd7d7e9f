// SPDX-License-Identifier: Apache-2.0
// Whether two sets of results agree, point by point. docs/how-to/compare.md defines the rule and the JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/reports/comparison/judgement.hh"

namespace thinpipe {

struct ComparedPoint {
  std::string name;
  std::string mode;
  std::vector<Judgement> judgements;
  std::vector<std::string> notes;  // settings that differ, runs that did not complete
  Verdict verdict = Verdict::cannot_be_judged;
};

struct Comparison {
  std::vector<ComparedPoint> points;
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  std::vector<std::string> without_quantities;  // in both, but neither side has a wanted quantity
  Verdict verdict = Verdict::cannot_be_judged;
};

// Returns the parts of a record that a comparison needs beside a report's rows.
Wanted wanted_for_comparison();

// Compares two reports. Both outlive the comparison. `quantities`: names; those to judge.
Comparison compare(const Report& a, const Report& b, const std::vector<std::string>& quantities,
                   const ComparisonRule& rule);

}  // namespace thinpipe
