#include "harness/reports/report.hh"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/support/parallel.hh"
#include "harness/records/record_check.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// A record's digest, or the reason why it has none.
struct Read {
  std::optional<Digest> digest;
  std::string warning;
};

Read read_digest(const fs::path& file, const Wanted& wanted) {
  try {
    const std::optional<Json> record = find_record(file);
    if (const auto fault = record ? find_fault(*record) : std::nullopt)
      return {{}, fmt::format("{} is left out: {}", file.string(), *fault)};
    if (record) return {digest(*record, wanted), ""};
    return {{},
            fmt::format("{} is left out: it is not a complete record; remove its folder, or repeat the run",
                        file.string())};
  } catch (const InputError& error) {
    return {{}, fmt::format("{} is left out: {} {}", file.string(), error.place().pointer, error.message())};
  } catch (const std::exception& error) {
    return {{}, fmt::format("{} is left out: {}", file.string(), error.what())};
  }
}

}  // namespace

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

Report report_of(const fs::path& folder, const Wanted& wanted, const Warn& warn) {
  const std::vector<fs::path> files = find_records(folder);
  std::vector<Read> read(files.size());
  in_parallel(files.size(), [&](std::size_t i) { read[i] = read_digest(files[i], wanted); });
  std::vector<Digest> digests;
  for (Read& one : read) {
    if (one.digest) {
      digests.push_back(*std::move(one.digest));
    } else {
      warn(one.warning);
    }
  }
  if (digests.empty()) {
    throw InputError({folder, ""}, "has no records; name a folder that `thinpipe run` wrote");
  }
  std::ranges::stable_sort(digests, {}, &Digest::started_at);
  return report_of(std::move(digests));
}

}  // namespace thinpipe
