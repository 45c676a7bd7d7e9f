// SPDX-License-Identifier: Apache-2.0
// Settings and measurements of a worker's own process.
#pragma once

#include <cstdint>

namespace thinpipe::trainer {

// Limits compute to one core per worker, because workers outnumber cores. OpenBLAS has its own threads, which
// LibTorch does not limit; when idle, they call sched_yield in a loop and take CPU time from the
// communication threads.
void compute_on_one_thread();

// Lowers the priority of compute below communication: with more workers than cores, a ready message must not
// wait for a time slice of another worker's forward pass. On Linux niceness is per thread, and raising it
// needs no privilege.
void lower_this_threads_priority();

// Keeps memory that a step has freed for the next step. By default the allocator returns it to the kernel and
// requests it again, page by page, up to a size that depends on the largest block freed so far. Steps after
// an evaluation, which frees a larger block, therefore took a quarter less CPU time than steps before it.
void keep_freed_memory();

// Returns the peak memory of this process so far.
std::int64_t peak_memory_bytes();

}  // namespace thinpipe::trainer
