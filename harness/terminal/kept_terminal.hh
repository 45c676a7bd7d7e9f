// The terminal, given back as it was: whoever is started in it may take its foreground and change its modes.
#pragma once

#include <optional>

#include <termios.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

class KeptTerminal {
 public:
  // Does nothing where there is no terminal, or this process is not in its foreground.
  KeptTerminal();
  ~KeptTerminal();
  KeptTerminal(const KeptTerminal&) = delete;
  KeptTerminal& operator=(const KeptTerminal&) = delete;

 private:
  FileDescriptor terminal_;
  std::optional<termios> modes_;
};

// Makes the calling process the leader of a process group of its own, in the foreground of the terminal that
// is its standard input: what an interactive shell expects of the one who starts it. Does nothing where
// standard input is not this process's terminal.
void take_foreground();

}  // namespace thinpipe
