// SPDX-License-Identifier: Apache-2.0
#include "common/support/signals.hh"

#include <cerrno>

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {

StopSignals::StopSignals() {
  ::sigset_t stopping;
  ::sigemptyset(&stopping);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stopping, signal);
  descriptor_ =
      FileDescriptor(system_call("make a signalfd", ::signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK)));
  system_call("hold signals back", ::sigprocmask(SIG_BLOCK, &stopping, &before_));
}

StopSignals::~StopSignals() {
  // Takes pending signals, which were sent to stop the work that ends here. Unblocked, they would kill the
  // process.
  requested();
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::requested() {
  signalfd_siginfo arrived{};
  while (::read(descriptor_.get(), &arrived, sizeof arrived) > 0) requested_ = true;
  return requested_;
}

}  // namespace thinpipe
