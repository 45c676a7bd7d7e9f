// SPDX-License-Identifier: Apache-2.0
// A report as a self-contained page: tables, interactive curves and the origin of the numbers. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// A script with the curves of some runs. Its name is a hash of its text, so that a page never loads another
// page's curves.
struct CurvesFile {
  std::string name;
  std::string text;
};

struct Page {
  std::string html;
  std::vector<CurvesFile> curves;  // empty if the page contains the curves itself
};

// What the capped links did during some of a report's runs, which the page shows below the curves.
struct LinkHistories {
  std::map<std::size_t, Json> of_runs = {};  // link_history() of runs, by their place in the report
  std::size_t left_out = 0;                  // number of other runs that have a series
};

// Returns the page of a report whose digests have curves and origins. Many curves go into files of their own;
// the page loads them from the folder `curves_folder` beside it when it draws them.
//
// The build puts these files into the program:
//   page.html  the page's frame
//   page.css   its style
//   series.js  chooses what to draw
//   curves.js  loads the curves
//   chart.js   draws curves and bars
//   links.js   draws the series of the capped links
//   tables.js  sorts tables
//   page.js    connects all of these with the page's controls
//   dom.js     creates elements and shows errors
//
// Text from records is inserted as text, never as markup: labels are the user's own words.
Page html_report(const Report& report, const std::string& curves_folder, const LinkHistories& links = {});

// Returns whether a file of this name in a folder of curves belongs to a page.
bool is_curves_file(const std::string& name);

}  // namespace thinpipe
