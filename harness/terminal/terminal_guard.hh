// SPDX-License-Identifier: Apache-2.0
// Restores the terminal after programs in it, which may take its foreground and change its modes.
#pragma once

#include <optional>

#include <termios.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

class TerminalGuard {
 public:
  // Does nothing if there is no terminal or this process is not in its foreground.
  TerminalGuard();
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

 private:
  FileDescriptor terminal_;
  std::optional<termios> modes_;
};

// Makes the calling process the leader of its own process group, in the foreground of the terminal that is
// its standard input. Interactive shells expect this. Does nothing if standard input is not this process's
// terminal.
void take_foreground();

}  // namespace thinpipe
