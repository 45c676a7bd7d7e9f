// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/verdicts.hh"

#include <algorithm>

namespace thinpipe {
namespace {

bool is_in(const Json& rows, const char* verdict) {
  return std::ranges::any_of(rows, [verdict](const Json& row) { return row.at("fidelity") == verdict; });
}

}  // namespace

Json worse_verdict(const Json& one, const Json& other) {
  for (const char* verdict : {"degraded", "not judged", "faithful"}) {
    if (one == verdict || other == verdict) return verdict;
  }
  return nullptr;
}

std::string mark_of(const Json& verdict) {
  if (verdict == "degraded") return "†";
  return verdict == "not judged" ? "‡" : "";
}

std::string marks_note(const Json& rows) {
  std::string note;
  if (is_in(rows, "degraded")) note = "†: the network of the run, or of its baseline, was degraded. ";
  if (is_in(rows, "not judged"))
    note += "‡: nothing filled some of its links, so it is not known whether they were as specified. ";
  if (!note.empty()) note.pop_back();
  return note;
}

}  // namespace thinpipe
