// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/html.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string page_of(const std::vector<Json>& records) {
  return html_report(make_report(records, {.curve = true, .origin = true}), "page.curves").html;
}

TEST(HtmlReport, IsOneFileWithoutAnyAddress) {
  const std::string page = page_of({report_record("dense", 0, 80), report_record("topk", 0, 20)});
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* address : {"src=", "href=", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(page, Not(HasSubstr(address)));
  }
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(HtmlReport, ALabelIsTextWhateverItHolds) {
  Json hostile = report_record("topk", 0, 20);
  hostile["experiment"] = hostile["label"] = hostile["labels"]["method"] =
      R"(</script><script>alert(1)</script><b onclick="x">&{{data}}<!--)";
  const std::string page = page_of({hostile});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b onclick")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("&lt;b onclick=&quot;x&quot;&gt;&amp;{{data}}&lt;!--"));
}

TEST(HtmlReport, TellsWhereTheNumbersComeFrom) {
  Json degraded = report_record("topk", 0, 20);
  degraded["fidelity"] = {
      {"verdict", "degraded"},
      {"checks",
       {{{"name", "shaper a->b"}, {"specified", nullptr}, {"measured", nullptr}, {"ok", true}},
        {{"name", "rate a->b"}, {"specified", nullptr}, {"measured", nullptr}, {"ok", false}}}}};
  degraded["provenance"]["dirty"] = true;
  const std::string page = page_of({report_record("dense", 0, 80), degraded});
  EXPECT_THAT(page, HasSubstr("<dt>hardware</dt><dd>a processor, 2 cores</dd>")) << "the same of both";
  EXPECT_THAT(page, HasSubstr("<td>0123456789 + uncommitted changes<"));
  EXPECT_THAT(page, HasSubstr("<td>degraded: rate a-&gt;b\n"));
  EXPECT_THAT(page, Not(HasSubstr("shaper a-&gt;b")));
}

TEST(HtmlReport, NamesRunsThatDidNotCompleteWithTheirReasons) {
  EXPECT_THAT(page_of({report_record("dense", 0, 80), failed_report_record()}),
              HasSubstr("<li>topk: failed: worker 1 hangs</li>"));
  EXPECT_THAT(page_of({report_record("dense", 0, 80)}), Not(HasSubstr("Not completed")));
}

TEST(HtmlReport, AMethodThatNeverGotThereIsNotSortedByItsTime) {
  std::vector<Json> records;
  for (const int seed : {1, 2}) {
    for (const auto& [method, time_s] : {std::pair("dense", std::optional(80.0)), {"topk", std::nullopt}}) {
      records.push_back(report_record(method, 0, time_s));
      records.back()["run_id"] = fmt::format("{}{}", method, seed);
      records.back()["config"]["seed"] = seed;
      records.back()["labels"]["seed"] = std::to_string(seed);
    }
  }
  EXPECT_THAT(page_of(records), HasSubstr("<td>never in 100 s"));
}

TEST(HtmlReport, SeriesWithEqualLabelsHaveNamesOfTheirOwn) {
  Json before = report_record("dense", 0, 80);
  Json after = report_record("dense", 0, 40);
  before["run_id"] = "before";
  after["config"]["workers"] = 4;
  after["provenance"]["started_at"] = "2026-01-03T03:04:05.500Z";
  EXPECT_THAT(page_of({before, after}), AllOf(HasSubstr("[\"dense (started 2026-01-02T03:04:05.500Z)\","),
                                              HasSubstr("[\"dense (started 2026-01-03T03:04:05.500Z)\",")));
  after["mode"] = "replay";
  EXPECT_THAT(page_of({before, after}),
              AllOf(HasSubstr("[\"dense (live)\","), HasSubstr("[\"dense (replay)\",")));
  EXPECT_THAT(page_of({before}), HasSubstr("[\"dense\","));
}

// As many as a sweep of a weekend makes, with curves as long as those of the reference results.
TEST(HtmlReport, APageOfSixThousandRunsIsShortAndHasItsCurvesBesideIt) {
  std::vector<Digest> digests;
  for (int i = 0; i < 6000; ++i) {
    Json record = report_record("topk", 0, 20 + i * 0.01);
    record["run_id"] = fmt::format("{:016x}", i);
    record["label"] = fmt::format("topk 0.01, {} Mbit/s, seed {}", 100 + i / 3, i % 3);
    record["labels"] = {{"method", "topk 0.01"},
                        {"bottleneck.rate", fmt::format("{} Mbit/s", 100 + i / 3)},
                        {"seed", fmt::format("seed {}", i % 3)}};
    record["config"].update(
        {{"bottleneck", {{"rate", fmt::format("{} Mbit/s", 100 + i / 3)}}}, {"seed", i % 3}});
    record["provenance"]["started_at"] = fmt::format("2026-01-02T03:{:02}:{:02}.500Z", i / 60 % 60, i % 60);
    for (int point = 0; point < 14; ++point) record["curve"].push_back(record["curve"].back());
    digests.push_back(digest(parsed(record), {.curve = true, .origin = true}));
  }
  const Page page = html_report(report_of(std::move(digests)), "my page.curves");
  EXPECT_LT(page.html.size(), 5'000'000);
  ASSERT_EQ(page.curves.size(), 120);
  EXPECT_THAT(page.html, AllOf(HasSubstr(page.curves.back().name), HasSubstr("my%20page.curves")));
  EXPECT_THAT(page.curves.back().text, StartsWith("takeCurves(119, [[["));
  EXPECT_TRUE(is_curves_file(page.curves.back().name));
  EXPECT_FALSE(is_curves_file("mine.js"));
}

// With the longest series that the page takes: 50 runs of eight directions with 200 points each.
TEST(HtmlReport, SeriesOfLinksAreTextAndShort) {
  Json direction = {{"name", "</script>->b"}, {"drops", Json::array()}, {"caps", {{0, 100.0}}}};
  for (int i = 0; i < 200; ++i) {
    direction["rates"].push_back(98.76);
    direction["queues"].push_back(123.4);
  }
  const Json history = {{"end_s", 60}, {"directions", std::vector(8, direction)}};
  std::vector<Json> records;
  LinkHistories links{.of_runs = {}, .left_out = 7};
  for (std::size_t i = 0; i < 50; ++i) {
    records.push_back(report_record("topk", 0, 20));
    records.back()["run_id"] = fmt::format("{:016x}", i);
    links.of_runs.emplace(i, history);
  }
  const std::string page =
      html_report(make_report(records, {.curve = true, .origin = true}), "page.curves", links).html;
  EXPECT_LT(page.size(), 1'500'000);
  EXPECT_THAT(page,
              AllOf(HasSubstr("id=\"links-49\">{\"directions\":[{"), HasSubstr("\"links_left_out\":7")));
  EXPECT_THAT(page, AllOf(HasSubstr("\\u003c/script>->b"), Not(HasSubstr("\"</script>->b"))));
}

TEST(HtmlReport, AShortPageHasItsCurvesInItself) {
  const Page page = html_report(
      make_report(std::vector<Json>{report_record("dense", 0, 80)}, {.curve = true, .origin = true}), "c");
  EXPECT_TRUE(page.curves.empty());
  EXPECT_THAT(page.html, HasSubstr("id=\"curves-0\">[[[0,5,9],[0,0.5555556,1],[0,80,100],[null,null,null],"));
}

}  // namespace
}  // namespace thinpipe
