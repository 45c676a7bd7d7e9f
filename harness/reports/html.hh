// A report as one page that needs nothing else: tables, curves to be explored, and where the numbers come
// from. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// A script that gives the page some runs' curves. Its name is a hash of its text, so that a page never loads
// the curves of another one.
struct CurvesFile {
  std::string name;
  std::string text;
};

struct Page {
  std::string html;
  std::vector<CurvesFile> curves;  // empty: the page has them in itself
};

// The page of a report whose digests have curves and origins. Many curves are in files of their own, which
// the page loads from the folder `curves_folder` beside it as they are to be drawn.
//
// page.html is the page's frame, page.css its looks; chart.js draws, series.js says what, curves.js gets the
// curves, tables.js sorts, page.js ties these to the page, dom.js makes elements and tells of errors. The
// build puts them into the program. Whatever comes from records is text in the page and nothing else: labels
// are the user's own words.
Page html_report(const Report& report, const std::string& curves_folder);

// Whether a file of this name in a folder of curves is one that a page has been written with.
bool is_curves_file(const std::string& name);

}  // namespace thinpipe
