#include "trainer/process.hh"

#include <dlfcn.h>
#include <sys/resource.h>

#include "harness/support/exception.hh"
#include "trainer/torch.hh"

namespace thinpipe::trainer {

void compute_on_one_thread() {
  at::set_num_threads(1);
  if (void* symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(symbol)(1);
  }
}

void lower_this_threads_priority() {
  system_call("lower the priority of the computing thread", ::setpriority(PRIO_PROCESS, 0, 19));
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  system_call("ask for this process's use of memory", ::getrusage(RUSAGE_SELF, &usage));
  return std::int64_t{usage.ru_maxrss} * 1024;  // counted in KiB
}

}  // namespace thinpipe::trainer
