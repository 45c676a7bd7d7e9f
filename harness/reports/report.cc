// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/report.hh"

#include <algorithm>
#include <optional>
#include <utility>

namespace thinpipe {

Report report_of(std::vector<Digest> digests, const std::vector<std::string>& over) {
  Json rows = take_rows(digests, over);
  Json groups = summarise_seeds(rows, baseline_names(over));
  return {.runs = std::move(rows), .groups = std::move(groups), .digests = std::move(digests)};
}

Report make_report(const std::vector<Record>& records, const Wanted& wanted) {
  std::vector<Digest> digests;
  for (const Record& record : records) digests.push_back(digest(record, wanted));
  return report_of(std::move(digests), wanted.over);
}

Report report_of(const std::filesystem::path& results, const Wanted& wanted, const Warn& warn) {
  const std::vector<RecordPlace> places = find_records(results);
  std::vector<std::optional<Digest>> read(places.size());
  const auto counted = read_records(
      places, [&](std::size_t i, Record record) { read[i] = digest(std::move(record), wanted); }, warn);
  if (counted.empty()) {
    throw InputError({results, ""}, "has no records; name a folder that `thinpipe run` wrote, or its export");
  }
  std::vector<Digest> digests;
  for (const std::size_t i : counted) digests.push_back(*std::move(read[i]));
  std::ranges::stable_sort(digests, {}, &Digest::started_at);
  return report_of(std::move(digests), wanted.over);
}

}  // namespace thinpipe
