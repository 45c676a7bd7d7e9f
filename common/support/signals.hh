// The wish to stop: SIGINT, SIGTERM and SIGHUP, taken from a descriptor instead of interrupting anything.
#pragma once

#include <csignal>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

// Holds the signals back from the whole process while it lives, so that none is lost between two waits. Make
// it while the process has one thread. Children started by ChildProcess have them unblocked.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Readable when one has arrived.
  const FileDescriptor& descriptor() const { return descriptor_; }

  // Whether one has arrived since this was made. Does not wait.
  bool requested();

 private:
  ::sigset_t before_{};
  FileDescriptor descriptor_;
  bool requested_ = false;
};

}  // namespace thinpipe
