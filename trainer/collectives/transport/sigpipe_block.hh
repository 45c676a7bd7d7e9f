// SPDX-License-Identifier: Apache-2.0
// While this object lives, writing to a connection that the peer has closed gives this thread an error
// instead of ending the process. Threads started in the meantime keep SIGPIPE blocked.
#pragma once

#include <csignal>

namespace thinpipe::trainer {

class SigpipeBlock {
 public:
  SigpipeBlock();
  ~SigpipeBlock();
  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;
  SigpipeBlock(SigpipeBlock&&) = delete;
  SigpipeBlock& operator=(SigpipeBlock&&) = delete;

 private:
  sigset_t previous_{};
};

}  // namespace thinpipe::trainer
