// One worker of a replay: what `thinpipe-trainer replay` does with a replay-worker.json.
#pragma once

#include "common/protocol/worker_file.hh"
#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

// Replays iterations of each class of steps (common/protocol/schedule.hh) until their mean time is known to 2
// %, or up to a maximum number, and logs to standard error. Emits the events "started", on rank 0 a
// "replayed_iteration" per iteration and at the end "replayed":   {"classes": [{"steps", "iterations",
// "mean_s", "ci95_half_width_s"}]} then "finished" or "failed". Returns whether the replay finished.
bool replay(const ReplayFile& file, const EventSink& events);

}  // namespace thinpipe::trainer
