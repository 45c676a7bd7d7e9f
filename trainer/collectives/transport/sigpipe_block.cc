// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/sigpipe_block.hh"

#include <ctime>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

namespace {

sigset_t only_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SigpipeBlock::SigpipeBlock() {
  const sigset_t sigpipe = only_sigpipe();
  const int error_number = pthread_sigmask(SIG_BLOCK, &sigpipe, &previous_);
  if (error_number != 0) throw SystemError("block SIGPIPE", error_number);
}

SigpipeBlock::~SigpipeBlock() {
  if (sigismember(&previous_, SIGPIPE) != 0) return;
  // A signal that arrived in the meantime must not be delivered when unblocking.
  const sigset_t sigpipe = only_sigpipe();
  const timespec at_once{};
  while (sigtimedwait(&sigpipe, nullptr, &at_once) == SIGPIPE) {
  }
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

}  // namespace thinpipe::trainer
