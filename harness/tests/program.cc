// SPDX-License-Identifier: Apache-2.0
#include "harness/tests/program.hh"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/tests/record_schema.hh"

namespace thinpipe {

namespace fs = std::filesystem;

InSlurmJob::InSlurmJob(const std::string& id, int restarts) {
  ::setenv("SLURM_JOB_ID", id.c_str(), 1);
  if (restarts > 0) ::setenv("SLURM_RESTART_COUNT", std::to_string(restarts).c_str(), 1);
}

InSlurmJob::~InSlurmJob() {
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_RESTART_COUNT");
}

std::string fake_trainer() {
  return built_program("thinpipe-fake-trainer");
}

Program::Program(std::string trainer)
    : trainer_(std::move(trainer)), mark_("THINPIPE_TEST_MARK=" + folder_.path().filename().string()) {}

std::string Program::experiment(const Json& base, const Json& sweep) const {
  const fs::path path = folder() / "experiment.json";
  std::ofstream(path) << Json{{"name", "test"}, {"base", base}, {"sweep", sweep}}.dump();
  return path;
}

ChildProcess Program::start(const std::vector<std::string>& arguments) const {
  const FileDescriptor output = FileDescriptor::open(folder() / "output", O_WRONLY | O_CREAT | O_TRUNC);
  const FileDescriptor errors = FileDescriptor::open(folder() / "errors", O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<std::string> all = {built_program("thinpipe")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::size_t equals = mark_.find('=');
  return ChildProcess(
      {.arguments = all,
       .standard_output = output.get(),
       .standard_error = errors.get(),
       .environment = {{"THINPIPE_TRAINER", trainer_}, {mark_.substr(0, equals), mark_.substr(equals + 1)}}});
}

Program::Ended Program::finish(ChildProcess process) const {
  const ExitStatus status = process.wait();
  return {status, read_file(folder() / "output"), read_file(folder() / "errors")};
}

std::vector<std::string> Program::run_arguments(const std::string& experiment,
                                                const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {"run", experiment, "--results", results()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json Program::record(const std::string& label) const {
  if (fs::exists(results() / "test")) {
    for (const auto& entry : fs::directory_iterator(results() / "test")) {
      const auto record = find_record(entry.path() / "run.json");
      if (!record || record->label != label) continue;
      EXPECT_THAT(record_violations(to_json(*record)), testing::IsEmpty());
      return to_json(*record);
    }
  }
  ADD_FAILURE() << "there is no record of " << label;
  return nullptr;
}

std::vector<std::string> Program::written() const {
  std::vector<std::string> out;
  if (!fs::exists(results())) return out;
  for (const auto& entry : fs::recursive_directory_iterator(results())) {
    if (entry.is_regular_file()) out.push_back(entry.path().filename());
  }
  std::ranges::sort(out);
  return out;
}

std::string quickstart_records() {
  return source_path("harness/tests/data/quickstart");
}

std::string started_at(const Json& record) {
  return record.at("provenance").at("started_at");
}

std::vector<Json> load_records(const std::filesystem::path& folder) {
  std::vector<Json> records;
  for (const auto& file : find_records(folder)) {
    records.push_back(to_json(find_record(file).value()));
    EXPECT_THAT(record_violations(records.back()), testing::IsEmpty()) << file.name();
  }
  return records;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

std::vector<pid_t> processes_marked(const std::string& mark) {
  std::vector<pid_t> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    std::ifstream environment(entry.path() / "environ");
    const std::string text((std::istreambuf_iterator<char>(environment)), {});
    if (text.find(mark) != std::string::npos) out.push_back(pid);
  }
  return out;
}

}  // namespace thinpipe
