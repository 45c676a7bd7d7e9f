// SPDX-License-Identifier: Apache-2.0
// One worker of a replay: the command `thinpipe-trainer replay`.
#pragma once

#include "common/protocol/worker_file.hh"
#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

// Replays iterations of each class of steps (common/protocol/schedule.hh) until their mean time is known to
// 2 %, or up to a maximum number. Logs to standard error. Emits the events
//   "started";
//   on rank 0, "replayed_iteration" for each iteration, and "replayed" with {"classes": [{"steps",
//   "iterations", "mean_s", "ci95_half_width_s"}]};
//   "finished" or "failed".
// Returns whether the replay finished.
bool replay(const ReplayFile& file, const EventSink& events);

}  // namespace thinpipe::trainer
