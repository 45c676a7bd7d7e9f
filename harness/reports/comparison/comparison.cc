// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/comparison.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thinpipe {
namespace {

constexpr std::size_t most_settings_shown = 5;

void append_note(std::vector<std::string>& notes, const char* about,
                 const std::vector<std::string>& settings) {
  if (settings.empty()) return;
  const std::size_t shown = std::min(settings.size(), most_settings_shown);
  std::string note =
      fmt::format("{}: {}", about,
                  fmt::join(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < settings.size()) note += fmt::format("; and {} more", settings.size() - shown);
  notes.push_back(std::move(note));
}

void append_incomplete(std::vector<std::string>& notes, const char* name, const PointSide& side) {
  const std::size_t missing = side.runs.size() - side.completed().size();
  if (missing > 0)
    notes.push_back(fmt::format("{}: {} of {} runs did not complete", name, missing, side.runs.size()));
}

std::vector<std::string> notes_on(const PointPair& pair) {
  std::vector<std::string> notes;
  std::vector<std::string> one_sided;
  const std::vector<std::string> different = different_settings(pair.a, pair.b, one_sided);
  append_note(notes, "configurations differ (A, B)", different);
  append_note(notes, "settings of one side only", one_sided);
  append_incomplete(notes, "A", pair.a);
  append_incomplete(notes, "B", pair.b);
  return notes;
}

// Returns the verdict on several; there is none on nothing.
template <class Range>
Verdict verdict_on(const Range& judged) {
  if (judged.empty()) return Verdict::cannot_be_judged;
  Verdict verdict = Verdict::reproduced;
  for (const auto& one : judged) verdict = worse(verdict, one.verdict);
  return verdict;
}

}  // namespace

Wanted wanted_for_comparison() {
  Wanted wanted;
  wanted.curve = true;
  wanted.origin = true;
  wanted.config = true;
  return wanted;
}

Comparison compare(const Report& a, const Report& b, const std::vector<std::string>& quantities,
                   const ComparisonRule& rule) {
  MatchedPoints matched = match(a, b);
  Comparison out;
  out.only_a = std::move(matched.only_a);
  out.only_b = std::move(matched.only_b);
  for (const PointPair& pair : matched.pairs) {
    ComparedPoint point{.name = pair.name, .mode = pair.a.mode(), .judgements = {}, .notes = notes_on(pair)};
    for (const ComparedQuantity& quantity : comparable_quantities()) {
      if (std::ranges::find(quantities, quantity.name) == quantities.end()) continue;
      if (auto judgement = judge(quantity, pair, rule)) point.judgements.push_back(*std::move(judgement));
    }
    if (point.judgements.empty()) {
      out.without_quantities.push_back(std::move(point.name));
      continue;
    }
    point.verdict = verdict_on(point.judgements);
    out.points.push_back(std::move(point));
  }
  out.verdict = verdict_on(out.points);
  return out;
}

}  // namespace thinpipe
