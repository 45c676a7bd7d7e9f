#include "harness/reports/report.hh"

#include <algorithm>
#include <optional>
#include <utility>

namespace thinpipe {

Report report_of(std::vector<Digest> digests) {
  Json rows = take_rows(digests);
  Json over_seeds = summarise_seeds(rows);
  return {.runs = std::move(rows), .over_seeds = std::move(over_seeds), .digests = std::move(digests)};
}

Report make_report(const std::vector<Json>& records, const Wanted& wanted) {
  std::vector<Digest> digests;
  for (const Json& record : records) digests.push_back(digest(record, wanted));
  return report_of(std::move(digests));
}

Report report_of(const std::filesystem::path& results, const Wanted& wanted, const Warn& warn) {
  const std::vector<RecordPlace> places = find_records(results);
  std::vector<std::optional<Digest>> read(places.size());
  const auto counted = read_records(
      places, [&](std::size_t i, const Json& record) { read[i] = digest(record, wanted); }, warn);
  if (counted.empty()) {
    throw InputError({results, ""}, "has no records; name a folder that `thinpipe run` wrote, or its export");
  }
  std::vector<Digest> digests;
  for (const std::size_t i : counted) digests.push_back(*std::move(read[i]));
  std::ranges::stable_sort(digests, {}, &Digest::started_at);
  return report_of(std::move(digests));
}

}  // namespace thinpipe
