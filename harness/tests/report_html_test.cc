#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/html.hh"
#include "harness/tests/report_record.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string page_of(const std::vector<Json>& records) {
  return html_report(make_report(records), records);
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
      {"checks", {{{"name", "shaper a->b"}, {"ok", true}}, {{"name", "rate a->b"}, {"ok", false}}}}};
  degraded["provenance"]["dirty"] = true;
  const std::string page = page_of({report_record("dense", 0, 80), degraded});
  EXPECT_THAT(page, HasSubstr("<dt>hardware</dt><dd>a processor, 2 cores</dd>")) << "the same of both";
  EXPECT_THAT(page, HasSubstr("<td>0123456789 + uncommitted changes</td>"));
  EXPECT_THAT(page, HasSubstr("<td>degraded: rate a-&gt;b</td>"));
  EXPECT_THAT(page, Not(HasSubstr("shaper a-&gt;b")));
}

TEST(HtmlReport, NamesRunsThatDidNotCompleteWithTheirReasons) {
  EXPECT_THAT(page_of({report_record("dense", 0, 80), failed_report_record()}),
              HasSubstr("<li>topk: failed: worker 1 hangs</li>"));
  EXPECT_THAT(page_of({report_record("dense", 0, 80)}), Not(HasSubstr("Not completed")));
}

}  // namespace
}  // namespace thinpipe
