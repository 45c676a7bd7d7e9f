// A report as one page that needs nothing else: tables, curves to be explored, and where the numbers come
// from. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// `report` is of these records. page.html is the page's frame, page.css its looks; chart.js draws,
// series.js says what, tables.js sorts, page.js ties these to the page, dom.js makes elements and tells of
// errors. The build puts them into the program. Whatever comes from records is text in the page and nothing
// else: labels are the user's own words.
std::string html_report(const Report& report, const std::vector<Json>& records);

}  // namespace thinpipe
