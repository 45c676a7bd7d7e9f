// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/submission.hh"

#include <algorithm>
#include <ctime>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "common/support/atomic_file.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

constexpr const char* folder_name = "slurm";

fs::path file_of(const fs::path& results, const std::string& job_name) {
  return results / folder_name / (job_name + ".json");
}

SubmittedRun read_run(const Json& value, const Place& place) {
  SubmittedRun run;
  JsonObject object(value, place);
  object.read("id", run.id, {.required = true});
  object.read("label", run.label, {.required = true});
  object.finish();
  return run;
}

Submission read_submission(const fs::path& file) {
  const Json value = parse_json_file(file);
  Submission submission;
  JsonObject object(value, {file, ""});
  object.read("job_name", submission.job_name, {.required = true});
  object.read("submitted_at", submission.submitted_at, {.required = true});
  object.read("prepares", submission.prepares, {});
  const Json& runs = object.get("runs");
  if (!runs.is_array()) throw InputError(object.place_of("runs"), "must be a list of runs");
  for (std::size_t i = 0; i < runs.size(); ++i)
    submission.runs.push_back(read_run(runs[i], object.place_of("runs") / i));
  object.finish();
  return submission;
}

}  // namespace

Submission new_submission(const std::string& experiment) {
  return {.job_name = fmt::format("thinpipe-{}-{:08x}", experiment, std::random_device()()),
          .submitted_at = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))),
          .runs = {}};
}

std::string log_prefix(const fs::path& results, const std::string& job_name) {
  return (results / folder_name / (job_name + "-")).string();
}

void write_submission(const fs::path& results, const Submission& submission) {
  Json runs = Json::array();
  for (const SubmittedRun& run : submission.runs) runs.push_back({{"id", run.id}, {"label", run.label}});
  Json value = {{"job_name", submission.job_name},
                {"submitted_at", submission.submitted_at},
                {"runs", std::move(runs)}};
  if (!submission.prepares.empty()) value["prepares"] = submission.prepares;
  fs::create_directories(results / folder_name);
  write_atomically(file_of(results, submission.job_name), value.dump(1) + "\n");
}

void remove_submission(const fs::path& results, const Submission& submission) {
  fs::remove(file_of(results, submission.job_name));
}

std::vector<Submission> read_submissions(const fs::path& results) {
  std::vector<Submission> submissions;
  if (!fs::is_directory(results / folder_name)) return submissions;
  for (const auto& entry : fs::directory_iterator(results / folder_name)) {
    const fs::path& file = entry.path();
    const bool is_whole = !file.filename().string().starts_with('.');  // see AtomicFile
    if (is_whole && file.extension() == ".json") submissions.push_back(read_submission(file));
  }
  std::ranges::sort(submissions, {},
                    [](const Submission& one) { return std::pair(one.submitted_at, one.job_name); });
  return submissions;
}

std::vector<std::string> job_names(const std::vector<Submission>& submissions) {
  std::vector<std::string> names;
  for (const Submission& submission : submissions) names.push_back(submission.job_name);
  return names;
}

}  // namespace thinpipe
