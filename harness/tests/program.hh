// SPDX-License-Identifier: Apache-2.0
// Runs the thinpipe program for a test, in its own folder, with a stand-in for the worker program.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/support/child_process.hh"
#include "common/support/json_object.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {

// The base of an experiment that needs no network.
inline const Json loopback = {{"topology", "loopback"}};

// While it lives, new processes have the environment of this Slurm job, which was restarted `restarts` times.
class InSlurmJob {
 public:
  InSlurmJob(const std::string& id, int restarts);
  ~InSlurmJob();
  InSlurmJob(const InSlurmJob&) = delete;
  InSlurmJob& operator=(const InSlurmJob&) = delete;
};

// Returns the path of the stand-in for the worker program.
std::string fake_trainer();

class Program {
 public:
  struct Ended {
    ExitStatus status;
    std::string output;  // standard output
    std::string errors;  // standard error
  };

  explicit Program(std::string trainer = fake_trainer());

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path results() const { return folder() / "results"; }
  // An environment variable that the processes of this program inherit and no others have.
  const std::string& mark() const { return mark_; }

  // Writes experiment.json and returns its path.
  std::string experiment(const Json& base, const Json& sweep = Json::object()) const;

  ChildProcess start(const std::vector<std::string>& arguments) const;
  Ended finish(ChildProcess process) const;
  Ended run(const std::vector<std::string>& arguments) const { return finish(start(arguments)); }
  // Returns the arguments of `thinpipe run experiment --results …`, with further ones.
  std::vector<std::string> run_arguments(const std::string& experiment,
                                         const std::vector<std::string>& more = {}) const;

  // Returns the record with this label. Fails the test and returns null if there is none.
  Json record(const std::string& label) const;
  // Returns all files below results/.
  std::vector<std::string> written() const;

 private:
  TemporaryFolder folder_;
  std::string trainer_;
  std::string mark_;
};

// Returns the path of records of experiments/quickstart.json, one of each method. They are for tests only: the references
// in results/ change with every measurement.
std::string quickstart_records();

// Returns the time at which the record's run started.
std::string started_at(const Json& record);

// Returns the records below a folder of results, in any order. Expects each to be valid (record_violations).
std::vector<Json> load_records(const std::filesystem::path& folder);

// Waits until the condition holds. Returns false if it does not within the time.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within);

// Returns the processes whose environment contains the text.
std::vector<pid_t> processes_marked(const std::string& mark);

}  // namespace thinpipe
