// What a worker sets and asks of its own process.
#pragma once

#include <cstdint>

namespace thinpipe::trainer {

// One core's worth of computing each: workers outnumber cores. OpenBLAS keeps threads of its own, which
// LibTorch does not set; idle, they call sched_yield in a loop and take the processor from the threads that
// communicate.
void compute_on_one_thread();

// Computing yields to communication: with more workers than cores, a ready message must not wait for a time
// slice of somebody's forward pass. Niceness is per thread on Linux, and needs no privilege to lower.
void lower_this_threads_priority();

// Memory that a step has freed serves the next one. Left to itself the allocator gives it back to the kernel
// and asks for it again, page by page, up to a size that the largest piece freed so far decides: a training
// that had evaluated before took a quarter less processor time a step than one that had not.
void keep_freed_memory();

// The most memory that it has held so far.
std::int64_t peak_memory_bytes();

}  // namespace thinpipe::trainer
