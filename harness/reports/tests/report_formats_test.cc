// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/csv.hh"
#include "harness/reports/markdown.hh"
#include "harness/reports/tests/report_record.hh"
#include "harness/reports/text.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The same run with another seed, and a time to the target of its own.
Json with_seed(Json record, int seed) {
  const std::string label = fmt::format("seed {}", seed);
  record["config"]["seed"] = seed;
  record["labels"]["seed"] = label;
  record["label"] = fmt::format("{}, {}", record["label"].get<std::string>(), label);
  return record;
}

std::string text_of(const std::vector<Json>& records) {
  return text_report(make_report(records));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextReport, ShowsOneLineARun) {
  EXPECT_EQ(
      text_of({report_record("dense", 0, 80), report_record("topk", 0, 20)}),
      "method  target  time to target  with set-up  vs dense  vs dense, with set-up  accuracy     wire  "
      "link use  iteration  compute  encode  exposed  fidelity\n"
      "dense      0.8          80.0 s      unknown     1.00x                unknown    0.7900  1.06 MB  "
      "    75 %     125 ms     50.0    10.0     60.0  faithful\n"
      "topk       0.8          20.0 s      unknown     4.00x                unknown    0.7900  1.06 MB  "
      "    75 %     125 ms     50.0    10.0     60.0  faithful\n");
}

TEST(TextReport, ColumnsWithoutAnyValueAreLeftOut) {
  Json rich = report_record("dense", 0, 80);
  rich["compression"]["vnmse"] = 0.012;
  rich["predicted"] = {{"exchange_time_s", 0.05}, {"iteration_time_s", 0.1}};
  EXPECT_THAT(text_of({rich, report_record("topk", 0, 20)}),
              AllOf(HasSubstr("vNMSE"), HasSubstr("/predicted"), HasSubstr("0.012"), HasSubstr("1.25")));
  EXPECT_THAT(text_of({report_record("topk", 0, 20)}),
              AllOf(Not(HasSubstr("vNMSE")), Not(HasSubstr("/predicted")), Not(HasSubstr("vs dense"))));
  EXPECT_EQ(text_of({}), "method\n") << "a sweep that was interrupted before its first run";
}

TEST(TextReport, OverSeedsThatNotAllHaveASetUpCostItIsUnknown) {
  Json first = with_seed(report_record("topk", 0, 20), 1);
  const Json second = with_seed(report_record("topk", 0, 20), 2);
  first["set_up"] = {{"pretraining_s", 1}, {"pretraining_from", "measured"}, {"pruning_s", 0}};
  Json again = second;
  again["set_up"] = first["set_up"];
  EXPECT_THAT(lines_of(text_of({first, second})).at(5), AllOf(HasSubstr("20.0 s"), HasSubstr("unknown")));
  EXPECT_THAT(lines_of(text_of({first, again})).at(5),
              AllOf(HasSubstr("20.0 s"), HasSubstr("21.0 s"), Not(HasSubstr("unknown"))));
}

TEST(TextReport, SaysWhyThereIsNoTime) {
  EXPECT_THAT(text_of({report_record("topk", 0, std::nullopt)}), HasSubstr("not reached"));
  EXPECT_THAT(text_of({failed_report_record()}), HasSubstr("failed"));
}

TEST(TextReport, MarksLowerBoundsAndChangedLinks) {
  Json changed = report_record("topk", 0, 20);
  const Json never = report_record("dense", 0, std::nullopt);
  EXPECT_THAT(text_of({never, changed}), AllOf(HasSubstr("≥ 5.00x"), Not(HasSubstr("changed"))));
  changed["network_events"] = Json::array({network_event(2.5), network_event(nullptr)});
  EXPECT_THAT(text_of({changed}), HasSubstr("faithful, links changed"));
}

TEST(TextReport, ShowsMeansOverSeedsBelow) {
  const Json dense = report_record("dense", 0, std::nullopt);
  const std::string text =
      text_of({with_seed(dense, 1), with_seed(dense, 2), with_seed(report_record("topk", 0, 20), 1),
               with_seed(report_record("topk", 0, 25), 2)});
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_EQ(lines.size(), 10);
  EXPECT_EQ(lines[5], "");
  EXPECT_THAT(lines[6], StartsWith("over seeds"));
  EXPECT_THAT(lines[7], AllOf(StartsWith("dense"), HasSubstr("0 of 2"), HasSubstr("never in 100 s  ")));
  EXPECT_THAT(lines[8], AllOf(StartsWith("topk"), HasSubstr("2 of 2"), HasSubstr("22.5 s [20.0, 25.0]"),
                              HasSubstr("≥ 4.47x  "), HasSubstr("faithful")))
      << "a bound has no interval";
  EXPECT_THAT(lines[9], AllOf(StartsWith("[low, high]"), HasSubstr("in about 50 %"), HasSubstr(bounds_note)));
  EXPECT_THAT(text_of({dense}), Not(HasSubstr("over seeds")));
}

TEST(TextReport, RunsThatMissedTheTargetStayInTheMeans) {
  Json missed = with_seed(report_record("topk", 0, std::nullopt), 2);
  missed["train_time_s"] = 100;
  const Json dense = report_record("dense", 0, 80);
  const std::string text =
      text_of({with_seed(dense, 1), with_seed(dense, 2), with_seed(report_record("topk", 0, 20), 1), missed});
  const std::string line = lines_of(text).at(8);
  EXPECT_THAT(line, AllOf(HasSubstr("1 of 2 "), HasSubstr("≥ 60.0 s  ")));
  EXPECT_THAT(line, HasSubstr("≤ 1.79x ")) << "sqrt(80 / 20 * 80 / 100)";
  EXPECT_THAT(line, Not(HasSubstr("60.0 s ["))) << "a bound has no interval";
}

TEST(TextReport, SaysOfHowManySeedsASpeedUpIsTheMean) {
  const Json dense = report_record("dense", 0, 80);
  const Json topk = report_record("topk", 0, 20);
  const std::string text = text_of(
      {with_seed(dense, 1), with_seed(dense, 2), with_seed(topk, 1), with_seed(topk, 2), with_seed(topk, 3)});
  EXPECT_THAT(lines_of(text).at(9),
              AllOf(StartsWith("topk"), HasSubstr("3 of 3"), HasSubstr("4.00x [4.00, 4.00] (2 of 3)")));
}

TEST(TextReport, WithoutATargetNoneIsMissed) {
  Json record = report_record("topk", 0, 20);
  record["config"]["targets"] = Json::array();
  EXPECT_THAT(text_of({with_seed(record, 1), with_seed(record, 2)}), Not(HasSubstr("0 of 2")));
}

TEST(TextReport, RunsThatFailedMakeTheMeansBounds) {
  const Json dense = report_record("dense", 0, 80);
  const std::string text =
      text_of({with_seed(dense, 1), with_seed(dense, 2), with_seed(report_record("topk", 0, 20), 1),
               with_seed(failed_report_record(), 2)});
  EXPECT_THAT(lines_of(text).at(8),
              AllOf(HasSubstr("1 of 2 (1 failed)"), HasSubstr("≥ 20.0 s"), HasSubstr("≤ 4.00x")));
}

TEST(TextReport, WithoutBoundsTheirSignsHaveNoMeaning) {
  const Json dense = report_record("dense", 0, 80);
  EXPECT_THAT(text_of({with_seed(dense, 1), with_seed(dense, 2)}), Not(HasSubstr("≥")));
}

TEST(MarkdownReport, HasBothTablesWithAllTheirColumns) {
  const Report report =
      make_report({with_seed(report_record("topk", 0, 20), 1), with_seed(report_record("topk", 0, 25), 2)});
  const std::vector<std::string> lines = lines_of(markdown_report(report));
  ASSERT_EQ(lines.size(), 10);
  EXPECT_THAT(lines[0], AllOf(StartsWith("| method | target |"), HasSubstr("| vNMSE |")));
  EXPECT_THAT(lines[1], StartsWith("| :--- | ---: |"));
  EXPECT_THAT(lines[2], StartsWith("| topk, seed 1 | 0.8 | 20.0 s | - | unknown | 20.0 s | - |"));
  EXPECT_THAT(lines[5], StartsWith("| over seeds \\[95 % CI\\] |"));
  EXPECT_EQ(lines[8], "") << "or the note would be a row";
  EXPECT_EQ(std::ranges::count(lines[0], '|'), std::ranges::count(lines[1], '|'));
  EXPECT_EQ(std::ranges::count(lines[0], '|'), std::ranges::count(lines[2], '|'));
}

TEST(TextReport, EndsWithTheWarnings) {
  Json record = report_record("topk", 0, 20);
  record["warnings"] = {"beware", "of *this*"};
  const std::string text = text_of({report_record("dense", 0, 80), record});
  EXPECT_TRUE(text.ends_with("\n\nWarning: topk: beware\n\nWarning: topk: of *this*\n")) << text;
  EXPECT_THAT(markdown_report(make_report(std::vector<Json>{record})),
              HasSubstr("\nWarning: topk: of \\*this\\*\n"));
}

TEST(TextReport, HasAWarningOfSeveralRunsOnce) {
  std::vector<Json> records = {report_record("dense", 0, 80), report_record("topk", 0, 20),
                               report_record("qsgd", 0, 20)};
  for (Json& record : records) record["warnings"] = {"beware"};
  EXPECT_TRUE(text_of(records).ends_with("\nWarning: dense and 2 other runs: beware\n")) << text_of(records);
}

TEST(MarkdownReport, TakesNothingInALabelForMarkup) {
  Json odd = report_record("topk", 0, 20);
  odd["label"] = "a|b *c* <b>&\nd";
  const std::string markdown = markdown_report(make_report(std::vector<Json>{odd}));
  EXPECT_THAT(markdown, HasSubstr("| a\\|b \\*c\\* &lt;b&gt;&amp; d |"));
}

TEST(CsvReport, FlattensRowsAndQuotesWhatNeedsIt) {
  const Json rows = {{{"experiment", "e"},
                      {"label", "a, \"b\""},
                      {"labels", {{"method", "a, \"b\""}}},
                      {"times", {{"mean", 0.5}, {"none", nullptr}}},
                      {"list", {1, "x"}},
                      {"reached", true}},
                     {{"experiment", "e"},
                      {"label", "two\nlines"},
                      {"labels", {{"cap", "1 Gbit/s"}}},
                      {"times", nullptr},
                      {"reached", nullptr}}};
  EXPECT_EQ(csv_report(rows),
            "experiment,label,label.cap,label.method,list,reached,times.mean,times.none\n"
            "e,\"a, \"\"b\"\"\",,\"a, \"\"b\"\"\",\"[1,\"\"x\"\"]\",true,0.5,\n"
            "e,\"two\nlines\",1 Gbit/s,,,,,\n");
}

TEST(CsvReport, ATargetMayBeANumberOrNameItsMetric) {
  const Json rows = {{{"labels", Json::object()}, {"target", 0.8}},
                     {{"labels", Json::object()}, {"target", {{"test_loss", 0.5}}}}};
  EXPECT_EQ(csv_report(rows), "target,target.test_loss\n0.8,\n,0.5\n");
}

}  // namespace
}  // namespace thinpipe
