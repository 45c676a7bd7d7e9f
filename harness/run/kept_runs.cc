#include "harness/run/kept_runs.hh"

#include <map>
#include <utility>

#include "common/protocol/trace.hh"
#include "common/support/parallel.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

fs::path record_path(const Run& run, const fs::path& results) {
  return results / run.id / "run.json";
}

std::string record_hash(const Run& run, const fs::path& results) {
  const fs::path path = record_path(run, results);
  return fs::exists(path) ? content_hash_of_file(path) : "";
}

std::optional<Digest> existing_digest(const Run& run, const fs::path& results) {
  try {
    std::optional<Record> record = find_record(record_path(run, results));
    if (!record) return std::nullopt;
    Digest out = digest(*std::move(record));
    // The run may have another label than when it was recorded.
    out.row["label"] = run.label;
    out.row["labels"] = std::map<std::string, std::string>(run.labels.begin(), run.labels.end());
    return out;
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string status_of(const Digest& digest) {
  return digest.row.at("status").get<std::string>();
}

std::optional<Digest> find_kept(const Run& run, const fs::path& results, const Repeat& repeat) {
  if (repeat.all) return std::nullopt;
  std::optional<Digest> found = existing_digest(run, results);
  if (!found) return std::nullopt;
  if (run.leaves_trace && !fs::exists(results / run.id / trace_file_name)) return std::nullopt;
  const std::string status = status_of(*found);
  const bool degraded = found->row.at("fidelity") == "degraded";
  const bool is_kept =
      (status == "completed" && !(degraded && repeat.degraded)) || (status == "failed" && !repeat.failed);
  return is_kept ? std::move(found) : std::nullopt;
}

KeptRuns find_kept(const std::vector<Run>& runs, const fs::path& results, const Repeat& repeat) {
  KeptRuns kept(runs.size());
  in_parallel(runs.size(), [&](std::size_t i) { kept[i] = find_kept(runs[i], results, repeat); });
  return kept;
}

}  // namespace thinpipe
