// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/command_signals.hh"

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/signals.hh"

namespace thinpipe {

CommandSignals::CommandSignals() {
  const ::sigset_t held = signals_to_take({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  descriptor_ =
      FileDescriptor(system_call("create a signalfd", ::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK)));
  system_call("block signals", ::sigprocmask(SIG_BLOCK, &held, &before_));
}

CommandSignals::~CommandSignals() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<CommandSignals::Arrived> CommandSignals::take() const {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) <= 0) return std::nullopt;
  return Arrived{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

std::optional<int> CommandSignals::early_exit_code() const {
  while (const auto arrived = take()) {
    if (arrived->number != SIGCHLD) return 128 + arrived->number;
  }
  return std::nullopt;
}

bool asks_to_end(int signal_number) {
  return signal_number != SIGUSR1 && signal_number != SIGUSR2 && signal_number != SIGCHLD;
}

}  // namespace thinpipe
