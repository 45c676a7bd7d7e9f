// SPDX-License-Identifier: Apache-2.0
// Measures the real network between the workers of a run on several machines: what each pair's connection carries, and
// how long a message takes there and back.
#pragma once

#include "common/protocol/worker_file.hh"
#include "trainer/commands/worker.hh"

namespace thinpipe::trainer {

// Measures with the other workers, each pair alone if there is enough time, and reports event::MeasuredNetwork. Returns
// false if it failed, which it has reported.
bool measure_network(const MeasureFile& file, const EventSink& events);

}  // namespace thinpipe::trainer
