// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/process.hh"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>

#include "common/support/exception.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

void compute_on_one_thread() {
  at::set_num_threads(1);
  if (void* symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(symbol)(1);
  }
}

void lower_this_threads_priority() {
  system_call("lower the priority of the compute thread", ::setpriority(PRIO_PROCESS, 0, 19));
}

#if defined(__SANITIZE_ADDRESS__)
void keep_freed_memory() {}  // the sanitizer's allocator has no such settings
#else
void keep_freed_memory() {
  constexpr int largest_from_the_heap = 32 << 20;  // the maximum that glibc allows
  constexpr int kept = 1 << 30;
  if (::mallopt(M_MMAP_THRESHOLD, largest_from_the_heap) != 1 || ::mallopt(M_TRIM_THRESHOLD, kept) != 1) {
    throw Error("set the allocator's thresholds: glibc refuses them");
  }
}
#endif

std::int64_t peak_memory_bytes() {
  rusage usage{};
  system_call("get this process's memory usage", ::getrusage(RUSAGE_SELF, &usage));
  return std::int64_t{usage.ru_maxrss} * 1024;  // from KiB
}

}  // namespace thinpipe::trainer
