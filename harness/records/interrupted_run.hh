// SPDX-License-Identifier: Apache-2.0
// A run that was stopped with a checkpoint, from which its next start continues: the record "interrupted" in its folder,
// and a folder with the checkpoint and the measurements until then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/event.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// In the run's folder.
inline constexpr const char* interrupted_folder_name = "interrupted";
// The events of the run's iterations and evaluations, in the run's folder; a copy of it is beside the checkpoint.
inline constexpr const char* iterations_file_name = "iterations.jsonl";

struct InterruptedRun {
  Record record;
  // Returns the iteration of the checkpoint.
  std::int64_t after_iteration() const { return record.checkpoint->after_iteration; }
};

// Returns the run in `folder` if it was stopped with a checkpoint; otherwise nullopt.
std::optional<InterruptedRun> find_interrupted(const std::filesystem::path& folder);

// Returns why the run cannot be continued ("its checkpoint is incomplete"); an empty text if it can. `provenance`: of this
// program. `checkpoints`: the number of files, one per worker.
std::string obstacle_to_continuing(const InterruptedRun& run, const std::filesystem::path& folder,
                                   const Json& provenance, std::int64_t checkpoints);

// Removes what later parts have left beside the run's checkpoint: they ended without a record.
void remove_other_checkpoints(const InterruptedRun& run, const std::filesystem::path& folder);

// Keeps the measurements beside the checkpoint, and names the checkpoint in the record.
void keep_interrupted(const std::filesystem::path& folder, std::int64_t after_iteration, Record& record);

// Replaces the run's file of iterations by the kept one, which ends at the checkpoint. Returns its events.
std::vector<Event> restore_iterations(const InterruptedRun& run, const std::filesystem::path& folder);

// Adds the earlier parts to the record of the last one, whose curve, iterations, times and restarts have them already:
// bytes on the wire, the use of links, connections, peak memory, how long threads waited for a CPU, warnings, and the
// verdict on the network, which is the worst of all parts.
void add_earlier_parts(Record& record, const Record& earlier);

}  // namespace thinpipe
