// SPDX-License-Identifier: Apache-2.0
// The parts of a run that was stopped with a checkpoint and continued by a later start: what the earlier part left, and
// what this one leaves for the next. harness/records/interrupted_run.hh has the files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/executors/executor.hh"
#include "harness/plan/run.hh"
#include "harness/records/interrupted_run.hh"
#include "harness/run/event_recorder.hh"
#include "harness/run/restarts.hh"

namespace thinpipe {

class RunParts {
 public:
  using Note = std::function<void(const std::string& line)>;

  // `run` must outlive this. `folder`: the run's. `captures`: whether links are captured. `note`: prints a line about the
  // run on the screen and in its log.
  RunParts(const Run& run, std::filesystem::path folder, bool captures, Note note);

  // Returns whether the run can be stopped with a checkpoint and continued.
  bool can_be_continued() const { return can_be_continued_; }

  // Looks for an earlier part that this program, with this provenance, can continue. Removes what later parts have left beside
  // its checkpoint.
  void find_earlier(const Json& provenance);
  bool has_earlier() const { return earlier_.has_value(); }

  // Takes over the earlier part's measurements and restarts, unless there is none. Forgets it if the run would not start from
  // the same weights. Prints why a part that there is cannot be continued.
  void continue_earlier(const std::optional<record::InitialWeights>& weights, EventRecorder& recorder,
                        Restarts& restarts);

  // Returns the iteration of the checkpoint from which this part continues; nullopt if it starts from the beginning.
  std::optional<std::int64_t> after_iteration() const;

  // Returns the train time of the earlier part.
  double earlier_train_time_s() const { return earlier_ ? earlier_->record.train_time_s.value_or(0) : 0; }

  // Adds the earlier part to the record of this one.
  void join(Record& record) const;

  // This part has ended, with this record. Keeps its checkpoint, which the record then names, or removes what is left of all
  // checkpoints. Returns false if the next start continues from the earlier part's once more: that part's record, which
  // `record` is set to, remains.
  bool end(const Outcome& outcome, Record& record) const;

 private:
  bool keep_checkpoint(std::int64_t after_iteration, Record& record) const;

  const Run& run_;
  std::filesystem::path folder_;
  Note note_;
  bool can_be_continued_;
  std::optional<InterruptedRun> earlier_;
  std::string obstacle_;  // to continuing an earlier part
};

}  // namespace thinpipe
