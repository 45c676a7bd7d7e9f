// SPDX-License-Identifier: Apache-2.0
// The signals that a program passes on to the commands it runs.
#pragma once

#include <csignal>
#include <optional>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

class CommandSignals {
 public:
  struct Arrived {
    int number = 0;
    bool from_terminal = false;  // which sends it to a whole process group
  };

  // Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGCHLD from now on, so that none is lost
  // while a network is built: create it first, while the process has one thread. ChildProcess unblocks them
  // in children.
  CommandSignals();
  ~CommandSignals();
  CommandSignals(const CommandSignals&) = delete;
  CommandSignals& operator=(const CommandSignals&) = delete;

  // Readable when a signal has arrived.
  const FileDescriptor& descriptor() const { return descriptor_; }

  // Returns the next signal that has arrived; nullopt if there is none.
  std::optional<Arrived> take() const;

  // Returns 128 + n for a signal other than SIGCHLD that has arrived, and discards those before it. To be
  // called before the first command starts.
  std::optional<int> early_exit_code() const;

 private:
  ::sigset_t before_{};
  FileDescriptor descriptor_;
};

// Returns true for signals that ask a program to end: all of the above but SIGUSR1, SIGUSR2 and SIGCHLD.
bool asks_to_end(int signal_number);

}  // namespace thinpipe
