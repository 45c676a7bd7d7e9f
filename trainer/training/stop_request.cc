// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/stop_request.hh"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/mman.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

std::atomic<StopRequest*> StopRequest::receiver = nullptr;

StopRequest::StopRequest(const std::string& path) {
  const FileDescriptor file = FileDescriptor::open(path, O_RDWR);
  void* const mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw SystemError("map " + path, errno);
  shared_ = static_cast<Shared*>(mapped);
  receiver = this;
  struct ::sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // libraries need not expect an interrupted system call
  ::sigaction(SIGTERM, &action, nullptr);
}

StopRequest::~StopRequest() {
  ::signal(SIGTERM, SIG_DFL);
  receiver = nullptr;
  ::munmap(shared_, sizeof(Shared));
}

void StopRequest::on_signal(int /*number*/) {
  if (StopRequest* const to = receiver) to->request();
}

void StopRequest::stop_after(std::int64_t iteration) {
  std::int64_t none = 0;
  shared_->last_iteration.compare_exchange_strong(none, iteration);
}

bool StopRequest::is_due(std::int64_t iteration) const {
  const std::int64_t last = shared_->last_iteration;
  return last > 0 && iteration >= last;
}

}  // namespace thinpipe::trainer
