// SPDX-License-Identifier: Apache-2.0
#include "common/support/signals.hh"

#include <cerrno>

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {

::sigset_t signals_to_take(std::initializer_list<int> numbers) {
  ::sigset_t out;
  ::sigemptyset(&out);
  for (const int number : numbers) ::sigaddset(&out, number);
  struct sigaction hang_up {};
  system_call("read the handling of SIGHUP", ::sigaction(SIGHUP, nullptr, &hang_up));
  if (hang_up.sa_handler == SIG_IGN) ::sigdelset(&out, SIGHUP);
  return out;
}

StopSignals::StopSignals() {
  const ::sigset_t stopping = signals_to_take({SIGINT, SIGTERM, SIGHUP});
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
