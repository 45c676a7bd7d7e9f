// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep that have ended and need not be executed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "harness/plan/run.hh"
#include "harness/records/change_time.hh"
#include "harness/reports/digest.hh"

namespace thinpipe {

// The ended runs that are executed again.
struct Repeat {
  bool all = false;
  bool failed = false;
  bool degraded = false;  // those whose network was not faithful
  // A Slurm job that was requeued. What its earlier starts executed is not repeated once more.
  std::string except_of_job = {};
  // When this command began. Later records are those of its further controllers, or of another command, and are not
  // repeated.
  std::optional<ChangeTime> since = {};
};

// `results`, in all of these: the experiment's own folder.
std::filesystem::path record_path(const Run& run, const std::filesystem::path& results);

// Returns a hash that tells records apart; empty if the run has none. For records that another node writes: to open a
// file on NFS shows its present content, while its time of change may come from a cache.
std::string record_hash(const Run& run, const std::filesystem::path& results);

// Returns the digest of the run's record, whatever its status, with the run's present label; nullopt if there is
// none that a report can show.
std::optional<Digest> existing_digest(const Run& run, const std::filesystem::path& results);

std::string status_of(const Digest& digest);

// Returns the digest of a run that has ended, completed or failed, and is not to be repeated.
std::optional<Digest> find_kept(const Run& run, const std::filesystem::path& results, const Repeat& repeat);

// Returns whether a run that was interrupted starts from the beginning, even if it left a checkpoint.
bool starts_over(const Run& run, const std::filesystem::path& results, const Repeat& repeat);

using DigestsById = std::unordered_map<std::string, Digest>;

// Reads the records in an experiment's folder while its runs are still being planned.
class EarlyReader {
 public:
  explicit EarlyReader(std::filesystem::path results);

  // Stops, and returns the digests read so far, by run id. To be called once.
  DigestsById stop();

 private:
  DigestsById digests_;
  std::jthread thread_;
};

// The same as find_kept for each of the runs. `known`: digests of records that have been read already.
using KeptRuns = std::vector<std::optional<Digest>>;
KeptRuns find_kept(const std::vector<Run>& runs, const std::filesystem::path& results, const Repeat& repeat,
                   DigestsById known = {});

// Makes the kept runs' times to the targets those of the experiment's present `hold`, which decides how a curve is read
// and not what it is. Rewrites their records. Returns how many were changed.
std::size_t apply_hold(const std::vector<Run>& runs, const std::filesystem::path& results, KeptRuns& kept);

}  // namespace thinpipe
