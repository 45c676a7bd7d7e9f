// One worker process: what `thinpipe-trainer work` does with a worker.json, and "profile" with its own.
#pragma once

#include "trainer/training_loop.hh"

namespace thinpipe::trainer {

struct WorkerFile {
  Membership membership;
  std::optional<std::string> starting_weights;  // path
  CheckpointOptions checkpoint;
  std::vector<Slowdown> slowdowns;
  std::string log_level = "info";
  TrainingConfig config;
};

// The members of an input file that say who a worker is among which others. Throws InputError.
void read_membership(JsonObject& object, Membership& membership);

// The members that every such file has. Throws InputError.
void read_worker(JsonObject& object, WorkerFile& worker);

// Strict; throws InputError.
WorkerFile read_worker_file(const std::string& path);

// Has `train` go through the loop, and logs to standard error. Events "started", those of the loop if this is
// rank 0, then "finished" or "failed". Returns whether it finished.
bool work(
    const WorkerFile& worker, const EventSink& events,
    const std::function<void(TrainingLoop&)>& train = [](TrainingLoop& loop) { loop.run(); });

// For an EventSink: {"event": "failed", "rank", "kind", "message"}; and to the log.
void report_failure(const EventSink& events, int rank, const std::exception& error);

// {"libtorch": "1.13.1", "gloo": "0.5.0", …}
Json library_versions();

}  // namespace thinpipe::trainer
