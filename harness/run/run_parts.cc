// SPDX-License-Identifier: Apache-2.0
#include "harness/run/run_parts.hh"

#include <utility>

#include <fmt/format.h>

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// Whatever happens at a time of its own, or is counted by somebody else, would have to be continued, too.
bool leaves_all_in_checkpoints(const Run& run, bool captures) {
  if (run.mode == Mode::converge) return true;
  return run.mode == Mode::live && !run.trainer && !run.runs_command() && !run.schedules_anything() &&
         !captures;
}

}  // namespace

RunParts::RunParts(const Run& run, fs::path folder, bool captures, Note note)
    : run_(run),
      folder_(std::move(folder)),
      note_(std::move(note)),
      can_be_continued_(leaves_all_in_checkpoints(run, captures)) {}

void RunParts::find_earlier(const Json& provenance) {
  const auto checkpoints = run_.training->config.at("workers").get<std::int64_t>();  // files, one per worker
  earlier_ = find_interrupted(folder_);
  if (!earlier_) return;
  obstacle_ = obstacle_to_continuing(*earlier_, folder_, provenance, checkpoints);
  if (!obstacle_.empty()) {
    earlier_.reset();
  } else {
    remove_other_checkpoints(*earlier_, folder_);
  }
}

void RunParts::continue_earlier(const std::optional<record::InitialWeights>& weights, EventRecorder& recorder,
                                Restarts& restarts) {
  if (!obstacle_.empty()) note_(fmt::format("starts from the beginning, because {}", obstacle_));
  if (!earlier_) return;
  const std::optional<record::InitialWeights>& before = earlier_->record.initial_weights;
  if (weights.has_value() != before.has_value() || (weights && weights->hash != before->hash)) {
    note_("starts from the beginning, because the initial weights have changed since it was interrupted");
    earlier_.reset();
    return;
  }
  recorder.restore(restore_iterations(*earlier_, folder_));
  if (earlier_->record.restarts) restarts.take_over(*earlier_->record.restarts);
  note_(fmt::format("continues after iteration {}, where it was interrupted", earlier_->after_iteration()));
}

std::optional<std::int64_t> RunParts::after_iteration() const {
  return earlier_ ? std::optional(earlier_->after_iteration()) : std::nullopt;
}

void RunParts::join(Record& record) const {
  if (earlier_) add_earlier_parts(record, earlier_->record);
}

bool RunParts::end(const Outcome& outcome, Record& record) const {
  if (outcome.saved_after && keep_checkpoint(*outcome.saved_after, record)) return true;
  if (earlier_ && outcome.status == Outcome::Status::interrupted) {
    record = earlier_->record;
    return false;
  }
  fs::remove_all(folder_ / interrupted_folder_name);
  return true;
}

// Returns false if the measurements that belong to the checkpoint cannot be kept: the disk may be full.
bool RunParts::keep_checkpoint(std::int64_t after_iteration, Record& record) const {
  try {
    keep_interrupted(folder_, after_iteration, record);
    return true;
  } catch (const std::exception& error) {
    note_(fmt::format("cannot keep the checkpoint: {}", error.what()));
    return false;
  }
}

}  // namespace thinpipe
