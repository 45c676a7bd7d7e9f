// SPDX-License-Identifier: Apache-2.0
// A recorder of events with everything that it reports to, but without a network.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "common/support/tests/temporary_folder.hh"
#include "harness/records/interrupted_run.hh"
#include "harness/run/event_recorder.hh"
#include "harness/run/tests/made_run.hh"

namespace thinpipe {

class Recording {
 public:
  explicit Recording(Mode mode) : run_(run_in(mode)) { progress_.begin(0, "dense", 2); }

  EventRecorder& recorder() { return recorder_; }
  Restarts& restarts() { return restarts_; }
  int beginnings() const { return beginnings_; }
  const std::vector<std::string>& notes() const { return notes_; }

  Json record() const { return to_json(record_.build({}, {}, {}, {})); }

  std::vector<Json> lines() const {
    std::ifstream file(folder_.path() / iterations_file_name);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  void write_lines(const std::string& lines) const {
    std::ofstream(folder_.path() / iterations_file_name) << lines;
  }

 private:
  TemporaryFolder folder_;
  thinpipe::Run run_;
  RecordBuilder record_{run_, "example", {}, {}};
  FailurePolicy policy_;
  Restarts restarts_{policy_};
  Progress progress_{1};
  int beginnings_ = 0;
  std::vector<std::string> notes_;
  EventRecorder recorder_{run_,
                          folder_.path(),
                          {},
                          {.record = record_,
                           .restarts = restarts_,
                           .progress = progress_,
                           .log = make_log_to_file(folder_.path() / "controller.log", "info"),
                           .note = [this](const std::string& line) { notes_.push_back(line); },
                           .training_begins = [this] { ++beginnings_; }}};
};

}  // namespace thinpipe
