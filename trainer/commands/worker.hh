// One worker process: `thinpipe-trainer work` with a worker.json, and `thinpipe-trainer
// profile` with its file.
#pragma once

#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

struct WorkerFile {
  Membership membership;
  std::optional<std::string> starting_weights;  // path
  CheckpointOptions checkpoint;
  std::vector<Slowdown> slowdowns;
  bool report_iteration_starts = false;
  std::string log_level = "info";
  TrainingConfig config;
};

// Reads the members of an input file that identify a worker and its peers. Throws InputError.
void read_membership(JsonObject& object, Membership& membership);

// Reads the members that all worker files have. Throws InputError.
void read_worker(JsonObject& object, WorkerFile& worker);

// Strict; throws InputError.
WorkerFile read_worker_file(const std::string& path);

// Calls `train` with the training loop, and logs to standard error. Emits Started, on rank 0 the data set and
// the loop's events, then Finished or Failed. Returns whether training finished.
bool work(
    const WorkerFile& worker, const EventSink& events,
    const std::function<void(TrainingLoop&)>& train = [](TrainingLoop& loop) { loop.run(); });

// Emits Failed and writes to the log.
void report_failure(const EventSink& events, const std::exception& error);

// Returns, for example, {"libtorch": "1.13.1", "gloo": "0.5.0", …}.
Json library_versions();

}  // namespace thinpipe::trainer
