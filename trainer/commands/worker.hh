// SPDX-License-Identifier: Apache-2.0
// One worker process: `thinpipe-trainer work` with a worker.json, and `thinpipe-trainer
// profile` with its file.
#pragma once

#include "common/protocol/worker_file.hh"
#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

struct Worker {
  WorkFile file;
  TrainingConfig config;
};

// Strict; throws InputError.
Worker read_worker_file(const std::string& path);

// Calls `train` with the training loop, which returns as TrainingLoop::run() does, and logs to standard error. Emits
// Started, on rank 0 the data set and the loop's events, then Finished, Interrupted or Failed. Returns false after Failed.
bool work(
    const Worker& worker, const EventSink& events,
    const std::function<std::optional<std::int64_t>(TrainingLoop&)>& train = [](TrainingLoop& loop) {
      return loop.run();
    });

// Returns what a file of a worker asks for; `request` is made if it asks for anything.
Interruption interruption_of(const std::optional<InterruptionOptions>& options,
                             std::optional<StopRequest>& request);

// Emits Failed and writes to the log.
void report_failure(const EventSink& events, const std::exception& error);

// Returns the hash of the data set, and the sizes of the parts that the configured partition makes of it.
event::Dataset describe_data(const TrainingConfig& config, const Dataset& dataset);

// Returns, for example, {"libtorch": "1.13.1", "gloo": "0.5.0", …}.
Json library_versions();

}  // namespace thinpipe::trainer
