// SPDX-License-Identifier: Apache-2.0
// What a run says of itself: lines in its log, on the screen and, if they are warnings about its results, in its record.
#pragma once

#include <filesystem>
#include <string>

#include "common/support/exception.hh"
#include "common/support/log.hh"
#include "harness/executors/executor.hh"
#include "harness/plan/run.hh"
#include "harness/run/record_builder.hh"
#include "harness/terminal/progress.hh"
#include "netem/link_captures.hh"

namespace thinpipe {

class RunLog {
 public:
  // All of them must outlive this.
  RunLog(const Run& run, Progress& progress, RecordBuilder& record)
      : run_(run), progress_(progress), record_(record) {}

  // From now on there is a log. `level`: see support/log.hh.
  void open(const std::filesystem::path& file, const std::string& level) {
    log_ = make_log_to_file(file, level);
  }

  // Null before open().
  const Log& log() const { return log_; }

  // Prints a line on the screen and in the log.
  void note(const std::string& line) const;

  // Likewise, and adds it to the record.
  void warn(const std::string& warning) const;

  // How an attempt, or the run, has ended. Nothing before open().
  void add(const Outcome& outcome) const;

  // The frames of a link were written to a file.
  void add(const netem::LinkCapture& capture) const;

  // An event that should have happened at this place of the experiment did not, because training had ended.
  void warn_of_missed(const Place& event, double trained_s) const;

 private:
  const Run& run_;
  Progress& progress_;
  RecordBuilder& record_;
  Log log_;
};

}  // namespace thinpipe
