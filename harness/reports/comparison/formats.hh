// SPDX-License-Identifier: Apache-2.0
// A comparison for a terminal, as Markdown and as JSON. Pure.
#pragma once

#include <string>

#include "harness/reports/comparison/comparison.hh"

namespace thinpipe {

// What is compared: its name on the command line and its report, which needs origins (Wanted::origin).
struct Compared {
  std::string name;
  const Report* report = nullptr;
};

std::string text_comparison(const Comparison& comparison, const Compared& a, const Compared& b);
std::string markdown_comparison(const Comparison& comparison, const Compared& a, const Compared& b);
Json json_comparison(const Comparison& comparison, const Compared& a, const Compared& b);

}  // namespace thinpipe
