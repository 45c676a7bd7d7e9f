// SPDX-License-Identifier: Apache-2.0
// A job array that was submitted for runs of an experiment: <results>/slurm/<job name>.json. It is written before
// the submission, so that no job is ever unknown, even if the controller dies.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

struct SubmittedRun {
  std::string id;
  std::string label;
};

struct Submission {
  std::string job_name;
  std::string submitted_at;        // UTC
  std::vector<SubmittedRun> runs;  // by the index of the task
  // What the tasks make for these and other runs, as `thinpipe run --prepare` names it; empty: they execute the runs.
  std::string prepares = {};
};

// `results`, in all of these: the experiment's own folder.

// Returns one without runs, of now, with a name that no other has: thinpipe-EXPERIMENT-XXXXXXXX.
Submission new_submission(const std::string& experiment);

// The tasks print into the files PREFIX0.log, PREFIX1.log, ...
std::string log_prefix(const std::filesystem::path& results, const std::string& job_name);

void write_submission(const std::filesystem::path& results, const Submission& submission);
void remove_submission(const std::filesystem::path& results, const Submission& submission);

// Returns all submissions of an experiment, the oldest first. Throws InputError if a file is not one.
std::vector<Submission> read_submissions(const std::filesystem::path& results);

std::vector<std::string> job_names(const std::vector<Submission>& submissions);

}  // namespace thinpipe
