// SPDX-License-Identifier: Apache-2.0
#include "harness/run/reused_runs.hh"

#include <algorithm>
#include <map>

#include "common/support/atomic_file.hh"
#include "common/support/file_descriptor.hh"
#include "harness/records/lock_file.hh"
#include "harness/records/record.hh"
#include "harness/run/kept_runs.hh"
#include "harness/run/run.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

bool is_hidden(const fs::path& file) {
  return file.filename().string().starts_with('.');
}

void require_runs(const fs::path& folder) {
  std::error_code unreadable;  // or missing
  const bool has_runs =
      std::any_of(fs::directory_iterator(folder, unreadable), fs::directory_iterator(),
                  [](const fs::directory_entry& entry) { return fs::exists(entry.path() / record_name); });
  if (!has_runs) {
    throw InputError({"--reuse " + folder.string(), ""},
                     "has no runs; give the folder of one experiment's results, such as results/quickstart");
  }
}

// The weights count as present once the file that describes them is there, so that file comes last.
void copy_weights(const std::string& path, const fs::path& from, const fs::path& to) {
  const fs::path description = fs::path(path).replace_extension(".json");
  if (path.empty() || fs::path(path).is_absolute() || fs::exists(to / description)) return;
  if (!fs::exists(from / path) || !fs::exists(from / description)) return;  // the runs can be used without
  fs::create_directories((to / path).parent_path());
  fs::copy_file(from / path, to / path, fs::copy_options::overwrite_existing);
  fs::copy_file(from / description, to / description, fs::copy_options::overwrite_existing);
}

// The record comes last: without it, the run counts as not executed.
void copy_run(const Run& run, const fs::path& from, const fs::path& to, const std::string& experiment) {
  Json record = Json::parse(read_file(record_path(run, from)));
  record["experiment"] = experiment;
  record["label"] = run.label;
  record["labels"] = std::map<std::string, std::string>(run.labels.begin(), run.labels.end());
  for (const fs::directory_entry& entry : fs::directory_iterator(from / run.id)) {
    const fs::path name = entry.path().filename();
    if (is_hidden(name) || name == record_name) continue;
    fs::copy(entry.path(), to / run.id / name,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  copy_weights(record.value(Json::json_pointer("/initial_weights/path"), std::string()), from, to);
  write_atomically(record_path(run, to), record_text(record));
}

}  // namespace

std::size_t reuse_runs(const std::vector<Run>& runs, const fs::path& others, const fs::path& results,
                       const std::string& experiment) {
  require_runs(others);
  std::size_t count = 0;
  for (const Run& run : runs) {
    if (fs::exists(record_path(run, results)) || !find_kept(run, others, {.failed = true, .degraded = true}))
      continue;
    fs::create_directories(results / run.id);
    const auto lock = LockFile::try_hold(results / run.id / run_lock_name);
    // Another controller executes it, or just has.
    if (!lock || fs::exists(record_path(run, results))) continue;
    copy_run(run, others, results, experiment);
    ++count;
  }
  return count;
}

}  // namespace thinpipe
