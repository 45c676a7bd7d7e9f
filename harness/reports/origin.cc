// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/origin.hh"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe {
namespace {

// Returns the fidelity with the names of failed checks.
std::string fidelity(const Digest& digest, const Json& row) {
  std::string out = fidelity_text(row);
  return digest.failed_checks.empty() ? out
                                      : fmt::format("{}: {}", out, fmt::join(digest.failed_checks, "; "));
}

// Returns why a run has no result: the error in its record, which most interrupted runs lack.
std::string reason(const Json& row) {
  const auto status = row.at("status").get<std::string>();
  const Json& error = row.at("error");
  return error.is_object() ? fmt::format("{}: {}", status, error.value("message", "unknown")) : status;
}

}  // namespace

Origin origin_of(const Report& report) {
  const Json& rows = report.runs;
  const std::vector<Digest>& digests = report.digests;
  Origin origin;
  origin.table.columns.push_back({"method", "the run's values on the swept axes"});
  origin.table.rows.resize(rows.size());
  const bool with_experiment = several_experiments(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = name_of(rows[i], with_experiment);
    origin.table.rows[i].push_back({name});
    if (rows[i].at("status") != "completed")
      origin.incomplete.push_back(fmt::format("{}: {}", name, reason(rows[i])));
  }
  const std::vector<std::string> facts = origin_facts();
  for (std::size_t fact = 0; fact < facts.size(); ++fact) {
    const auto is_common = [&](const Digest& digest) {
      return digest.origin.at(fact) == digests.front().origin.at(fact);
    };
    if (digests.size() > 1 && std::ranges::all_of(digests, is_common)) {
      origin.common.emplace_back(facts[fact], digests.front().origin.at(fact));
      continue;
    }
    origin.table.columns.push_back({facts[fact], ""});
    for (std::size_t i = 0; i < digests.size(); ++i)
      origin.table.rows[i].push_back({digests[i].origin.at(fact)});
  }
  origin.table.columns.push_back({"fidelity", "whether the emulated network behaved as specified"});
  for (std::size_t i = 0; i < digests.size(); ++i)
    origin.table.rows[i].push_back({fidelity(digests[i], rows[i])});
  return origin;
}

}  // namespace thinpipe
