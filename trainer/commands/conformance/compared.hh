// SPDX-License-Identifier: Apache-2.0
// Compares the workers' results.
#pragma once

#include <string>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// Collective: every worker passes its own result, float32. Returns "" if all have the same bits. Otherwise returns
// which worker differs from worker 0, the first one, and at which entry; the text is the same on every worker.
std::string difference_between_workers(Collective& network, const torch::Tensor& result);

}  // namespace thinpipe::trainer
