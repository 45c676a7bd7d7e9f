// SPDX-License-Identifier: Apache-2.0
// Requests to stop: SIGINT, SIGTERM and SIGHUP, read from a descriptor instead of interrupting the process.
#pragma once

#include <csignal>
#include <initializer_list>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

// Returns these signals, without SIGHUP if it is ignored: `nohup` asks for that, but a blocked signal arrives even if
// it is ignored.
::sigset_t signals_to_take(std::initializer_list<int> numbers);

// Blocks these signals in the whole process while it lives, so that none is lost between two waits. Create it
// while the process has a single thread. ChildProcess unblocks them in its children.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Becomes readable when a signal has arrived.
  const FileDescriptor& descriptor() const { return descriptor_; }

  // Returns whether a signal has arrived since construction. Does not wait.
  bool requested();

 private:
  ::sigset_t before_{};
  FileDescriptor descriptor_;
  bool requested_ = false;
};

}  // namespace thinpipe
