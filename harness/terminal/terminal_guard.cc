// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/terminal_guard.hh"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// Blocks SIGTTOU, which stops a background process that changes the foreground.
class BackgroundWriter {
 public:
  BackgroundWriter() {
    ::sigset_t stopping;
    ::sigemptyset(&stopping);
    ::sigaddset(&stopping, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &stopping, &before_);
  }
  ~BackgroundWriter() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

 private:
  ::sigset_t before_{};
};

}  // namespace

TerminalGuard::TerminalGuard() {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (terminal < 0) return;  // this process has no terminal
  terminal_ = FileDescriptor(terminal);
  termios modes{};
  if (::tcgetpgrp(terminal) == ::getpgrp() && ::tcgetattr(terminal, &modes) == 0) modes_ = modes;
}

TerminalGuard::~TerminalGuard() {
  if (!modes_) return;
  const BackgroundWriter allowed;
  // Errors are ignored: the terminal may have gone.
  ::tcsetpgrp(terminal_.get(), ::getpgrp());
  ::tcsetattr(terminal_.get(), TCSADRAIN, &*modes_);
}

void take_foreground() {
  if (::isatty(STDIN_FILENO) == 0 || ::tcgetpgrp(STDIN_FILENO) < 0) return;
  const BackgroundWriter allowed;
  system_call("create a process group", ::setpgid(0, 0));
  system_call("take the terminal's foreground", ::tcsetpgrp(STDIN_FILENO, ::getpgrp()));
}

}  // namespace thinpipe
