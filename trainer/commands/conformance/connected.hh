// SPDX-License-Identifier: Apache-2.0
// Workers of one process, connected to each other.
#pragma once

#include <functional>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer::testing {

struct Workers;

// Runs `worker` on one thread per worker, over the backend, on 127.0.0.1 if it is a network. Throws the
// exception of the first worker that fails.
void run_connected(const Workers& workers, const std::function<void(Collective&)>& worker);

}  // namespace thinpipe::trainer::testing
