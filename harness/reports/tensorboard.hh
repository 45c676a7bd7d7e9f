// SPDX-License-Identifier: Apache-2.0
// A report's curves as event files for TensorBoard.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/reports/event_file.hh"
#include "harness/reports/report.hh"

namespace thinpipe {

// Writes <folder>/<name of the run>/events.out.tfevents.thinpipe for each run and returns these files' paths.
// The report's digests must have curves. Replaces files of an earlier export.
//
// Each evaluation becomes the scalars test_accuracy, test_loss and train_loss, if finite, by iteration. Its
// wall time is the run's start plus the train time, so that TensorBoard's relative axis shows train time.
//
// A run's folder is named after its label, with "_" for all characters but letters, digits and "+-.=@". If
// there are several experiments, it lies in a folder named after the experiment. If runs would have the same
// folder, all but the first have their run_id appended.
std::vector<std::filesystem::path> write_tensorboard(const Report& report,
                                                     const std::filesystem::path& folder);

// Gives each run its event file below a folder, by the rules above.
class EventFilePaths {
 public:
  std::filesystem::path of(const std::filesystem::path& folder, const std::string& label,
                           const std::string& run_id);

 private:
  std::set<std::filesystem::path> taken_;  // folders
};

// Writes the curve of one record to this file in the same way, and replaces what is there.
void write_event_file(const Record& record, const std::filesystem::path& file);

// Returns the scalars of an evaluation that are known.
std::vector<Scalar> evaluation_scalars(std::optional<double> test_accuracy, std::optional<double> test_loss,
                                       std::optional<double> train_loss);

}  // namespace thinpipe
