// While it lives, writing to a connection that the peer has closed is an error of this thread and not the
// death of the process. Threads started meanwhile stay so for good.
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
