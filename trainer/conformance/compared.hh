// Compares the workers' results.
#pragma once

#include <string>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// Every worker calls it with its result, float32. Returns "" if all have the same bits, or else where the
// first worker that differs from worker 0 does so, the same text on every worker.
std::string difference_between_workers(Collective& network, const torch::Tensor& result);

}  // namespace thinpipe::trainer
