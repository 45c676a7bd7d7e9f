// SPDX-License-Identifier: Apache-2.0
#include "harness/run/kept_runs.hh"

#include <map>
#include <utility>

#include "common/protocol/trace.hh"
#include "common/support/atomic_file.hh"
#include "common/support/parallel.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/lock_file.hh"
#include "harness/records/record.hh"
#include "harness/records/record_view.hh"
#include "harness/run/run.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// Returns nullopt if there is none that a report can show.
std::optional<Digest> read_digest(const fs::path& path) {
  try {
    // Read before the record: one that replaces it meanwhile must not count as the later one.
    const std::optional<ChangeTime> changed = change_time(path);
    std::optional<Record> record = find_record(path);
    if (!record || !changed) return std::nullopt;
    Digest out = digest(*std::move(record));
    out.changed = *changed;
    return out;
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

// The run may have another label than when it was recorded.
void set_labels(Digest& digest, const Run& run) {
  digest.row["label"] = run.label;
  digest.row["labels"] = std::map<std::string, std::string>(run.labels.begin(), run.labels.end());
}

}  // namespace

fs::path record_path(const Run& run, const fs::path& results) {
  return results / run.id / record_name;
}

std::string record_hash(const Run& run, const fs::path& results) {
  const fs::path path = record_path(run, results);
  return fs::exists(path) ? content_hash_of_file(path) : "";
}

std::optional<Digest> existing_digest(const Run& run, const fs::path& results) {
  std::optional<Digest> out = read_digest(record_path(run, results));
  if (out) set_labels(*out, run);
  return out;
}

std::string status_of(const Digest& digest) {
  return digest.row.at("status").get<std::string>();
}

namespace {

bool repeats_everything(const Repeat& repeat) {
  return repeat.all && repeat.except_of_job.empty() && !repeat.since;
}

// Returns what is to be repeated of a run with this digest.
Repeat repeat_of(const Digest& digest, const Repeat& repeat) {
  const bool is_done = (!repeat.except_of_job.empty() && digest.slurm_job == repeat.except_of_job) ||
                       (repeat.since && digest.changed > *repeat.since);
  return is_done ? Repeat{} : repeat;
}

// Returns the digest if its run need not be executed again.
std::optional<Digest> if_kept(std::optional<Digest> found, const Run& run, const fs::path& results,
                              const Repeat& asked) {
  if (!found) return std::nullopt;
  const Repeat repeat = repeat_of(*found, asked);
  if (repeat.all) return std::nullopt;
  if (run.leaves_trace && !fs::exists(results / run.id / trace_file_name)) return std::nullopt;
  const std::string status = status_of(*found);
  const bool degraded = found->row.at("fidelity") == "degraded";
  const bool is_kept =
      (status == "completed" && !(degraded && repeat.degraded)) || (status == "failed" && !repeat.failed);
  return is_kept ? std::move(found) : std::nullopt;
}

}  // namespace

std::optional<Digest> find_kept(const Run& run, const fs::path& results, const Repeat& repeat) {
  if (repeats_everything(repeat)) return std::nullopt;
  return if_kept(existing_digest(run, results), run, results, repeat);
}

bool starts_over(const Run& run, const fs::path& results, const Repeat& repeat) {
  if (!repeat.all || repeats_everything(repeat)) return repeat.all;
  const std::optional<Digest> found = existing_digest(run, results);
  return !found || repeat_of(*found, repeat).all;
}

EarlyReader::EarlyReader(fs::path results)
    : thread_([this, results = std::move(results)](const std::stop_token& stop) {
        try {
          std::error_code missing;  // of a folder that nothing has been written to yet
          for (const fs::directory_entry& entry : fs::directory_iterator(results, missing)) {
            if (stop.stop_requested()) return;
            std::optional<Digest> found = read_digest(entry.path() / record_name);
            if (found) digests_.emplace(entry.path().filename(), *std::move(found));
          }
        } catch (const std::exception&) {
          // find_kept reads the rest, and reports what it cannot read.
        }
      }) {}

DigestsById EarlyReader::stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(digests_);
}

KeptRuns find_kept(const std::vector<Run>& runs, const fs::path& results, const Repeat& repeat,
                   DigestsById known) {
  KeptRuns kept(runs.size());
  if (repeats_everything(repeat)) return kept;
  in_parallel(runs.size(), [&](std::size_t i) {
    const auto found = known.find(runs[i].id);
    if (found == known.end()) {
      kept[i] = find_kept(runs[i], results, repeat);
    } else {
      set_labels(found->second, runs[i]);
      kept[i] = if_kept(std::move(found->second), runs[i], results, repeat);
    }
  });
  return kept;
}

std::size_t apply_hold(const std::vector<Run>& runs, const fs::path& results, KeptRuns& kept) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t hold = hold_of(runs[i].training->config);
    if (!kept[i] || kept[i]->row.at("hold").is_null() || kept[i]->row.at("hold") == hold) continue;
    // Another controller that executes the run again leaves a record with its own.
    const auto lock = LockFile::try_hold(results / runs[i].id / run_lock_name);
    std::optional<Record> record = lock ? find_record(record_path(runs[i], results)) : std::nullopt;
    if (!record) continue;
    record->config["hold"] = hold;
    for (record::TargetResult& target : record->targets)
      target = reach_target(record->curve, target.target, hold);
    write_atomically(record_path(runs[i], results), record_text(to_json(*record)));
    kept[i] = digest(*std::move(record));
    set_labels(*kept[i], runs[i]);
    ++changed;
  }
  return changed;
}

}  // namespace thinpipe
