// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/formats.hh"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/reports/markdown.hh"
#include "harness/reports/origin.hh"
#include "harness/reports/tables.hh"
#include "harness/reports/text.hh"

namespace thinpipe {
namespace {

constexpr int comparison_version = 1;
constexpr std::array shown_facts = {"commit", "hardware", "kernel", "LibTorch"};

// Returns the values of a fact over all runs of a side, each once.
std::vector<std::string> values_of_fact(const Report& report, std::string_view fact) {
  const std::vector<std::string> facts = origin_facts();
  const auto place = static_cast<std::size_t>(std::ranges::find(facts, fact) - facts.begin());
  std::vector<std::string> values;
  for (const Digest& digest : report.digests) {
    const std::string& value = digest.origin.at(place);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

Table sides_table(const Compared& a, const Compared& b) {
  Table table{.columns = {{"", ""}, {"results", ""}, {"runs", ""}}, .rows = {}};
  for (const char* const fact : shown_facts) table.columns.push_back({fact, ""});
  for (const auto& [letter, side] : {std::pair("A", &a), std::pair("B", &b)}) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells.push_back({letter});
    cells.push_back({side->name});
    cells.push_back({fmt::format("{}", side->report->runs.size())});
    for (const char* const fact : shown_facts) {
      cells.push_back({fmt::format("{}", fmt::join(values_of_fact(*side->report, fact), " or "))});
    }
  }
  return table;
}

// "12.3 s [11.9, 12.8]".
std::string mean_text(const Json& summary, const ComparedQuantity& quantity) {
  if (!summary.is_object() || !summary.at("mean").is_number()) return "-";
  std::string out = quantity.show(summary.at("mean").get<double>());
  const Json& low = summary.at("ci95_low");
  const Json& high = summary.at("ci95_high");
  if (low.is_number() && low != high)
    out += fmt::format(" [{}, {}]", quantity.show(low.get<double>()), quantity.show(high.get<double>()));
  return out;
}

std::string ratio_text(const Judgement& judgement) {
  const Json& ratio = judgement.ratio;
  if (!ratio.is_object() || !ratio.at("mean").is_number()) return "-";
  const auto mean = ratio.at("mean").get<double>();
  const char* const mark = judgement.compared == "lower bound"   ? "≥ "
                           : judgement.compared == "upper bound" ? "≤ "
                                                                 : "";
  std::string out = fmt::format("{}{:.3f}", mark, mean);
  const Json& low = ratio.at("ci95_low");
  if (low.is_number() && judgement.compared != "exactly")
    out += fmt::format(" [{:.3f}, {:.3f}]", low.get<double>(), ratio.at("ci95_high").get<double>());
  return out;
}

std::string percent_text(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

Table points_table(const Comparison& comparison) {
  Table table{.columns = {{"point", ""},
                          {"quantity", ""},
                          {"A", ""},
                          {"B", ""},
                          {"B/A [95 % CI]", ""},
                          {"seeds", ""},
                          {"within", ""},
                          {"verdict", ""},
                          {"because", ""}},
              .rows = {}};
  for (const ComparedPoint& point : comparison.points) {
    for (const Judgement& judgement : point.judgements) {
      const ComparedQuantity& quantity = *judgement.quantity;
      table.rows.push_back({{point.name},
                            {quantity.heading},
                            {mean_text(judgement.a, quantity)},
                            {mean_text(judgement.b, quantity)},
                            {ratio_text(judgement)},
                            {fmt::format("{}", judgement.seeds)},
                            {percent_text(judgement.tolerance)},
                            {to_string(judgement.verdict)},
                            {judgement.reason.empty() ? "-" : judgement.reason}});
    }
  }
  return table;
}

constexpr std::array all_verdicts = {Verdict::reproduced, Verdict::differs, Verdict::cannot_be_judged};

// Returns how many points have each verdict, by quantity.
Table verdicts_table(const Comparison& comparison) {
  Table table{.columns = {{"quantity", ""}}, .rows = {}};
  for (const Verdict verdict : all_verdicts) table.columns.push_back({to_string(verdict), ""});
  for (const ComparedQuantity& quantity : comparable_quantities()) {
    std::array<int, all_verdicts.size()> counts{};
    for (const ComparedPoint& point : comparison.points) {
      for (const Judgement& judgement : point.judgements) {
        if (judgement.quantity->name == quantity.name)
          ++counts.at(static_cast<std::size_t>(judgement.verdict));
      }
    }
    if (std::ranges::all_of(counts, [](int count) { return count == 0; })) continue;
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells.push_back({quantity.heading});
    for (const int count : counts) cells.push_back({fmt::format("{}", count)});
  }
  return table;
}

std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedPoint& point : comparison.points) {
    for (const std::string& note : point.notes) lines.push_back(fmt::format("{}: {}", point.name, note));
  }
  for (const std::string& name : comparison.only_a) lines.push_back(fmt::format("only in A: {}", name));
  for (const std::string& name : comparison.only_b) lines.push_back(fmt::format("only in B: {}", name));
  for (const std::string& name : comparison.without_quantities)
    lines.push_back(fmt::format("left out: {}: neither side has one of these quantities", name));
  return lines;
}

std::string conclusion(const Comparison& comparison) {
  const auto with = [&comparison](Verdict verdict) {
    return std::ranges::count(comparison.points, verdict, &ComparedPoint::verdict);
  };
  if (comparison.points.empty())
    return fmt::format("Over all: cannot be judged; no point {}is in both results",
                       comparison.without_quantities.empty() ? "" : "with one of these quantities ");
  return fmt::format("Over all: {} ({} of {} points reproduced, {} differ, {} cannot be judged)",
                     to_string(comparison.verdict), with(Verdict::reproduced), comparison.points.size(),
                     with(Verdict::differs), with(Verdict::cannot_be_judged));
}

Json json_side(const Compared& side) {
  Json out = {{"results", side.name}, {"runs", side.report->runs.size()}};
  for (const char* const fact : shown_facts) out[fact] = values_of_fact(*side.report, fact);
  return out;
}

Json json_point(const ComparedPoint& point) {
  Json quantities = Json::array();
  for (const Judgement& judgement : point.judgements) {
    quantities.push_back({{"quantity", judgement.quantity->name},
                          {"a", judgement.a},
                          {"b", judgement.b},
                          {"ratio", judgement.ratio},
                          {"seeds", judgement.seeds},
                          {"compared", judgement.compared.empty() ? Json(nullptr) : Json(judgement.compared)},
                          {"tolerance", judgement.tolerance},
                          {"verdict", to_string(judgement.verdict)},
                          {"reason", judgement.reason.empty() ? Json(nullptr) : Json(judgement.reason)}});
  }
  return {{"name", point.name},
          {"mode", point.mode},
          {"verdict", to_string(point.verdict)},
          {"notes", point.notes},
          {"quantities", std::move(quantities)}};
}

}  // namespace

std::string text_comparison(const Comparison& comparison, const Compared& a, const Compared& b) {
  std::string out = fmt::format("{}\n{}\n{}", text_table(sides_table(a, b)),
                                text_table(without_empty_columns(points_table(comparison))),
                                text_table(verdicts_table(comparison)));
  for (const std::string& line : remarks(comparison)) out += fmt::format("\nNote: {}", line);
  return fmt::format("{}\n{}\n", out, conclusion(comparison));
}

std::string markdown_comparison(const Comparison& comparison, const Compared& a, const Compared& b) {
  std::string out =
      fmt::format("{}\n{}\n{}", markdown_table(sides_table(a, b)), markdown_table(points_table(comparison)),
                  markdown_table(verdicts_table(comparison)));
  for (const std::string& line : remarks(comparison)) out += fmt::format("\nNote: {}\n", markdown_text(line));
  return fmt::format("{}\n{}\n", out, conclusion(comparison));
}

Json json_comparison(const Comparison& comparison, const Compared& a, const Compared& b) {
  Json points = Json::array();
  for (const ComparedPoint& point : comparison.points) points.push_back(json_point(point));
  return {{"schema_version", comparison_version},
          {"a", json_side(a)},
          {"b", json_side(b)},
          {"points", std::move(points)},
          {"only_a", comparison.only_a},
          {"only_b", comparison.only_b},
          {"without_quantities", comparison.without_quantities},
          {"verdict", to_string(comparison.verdict)}};
}

}  // namespace thinpipe
