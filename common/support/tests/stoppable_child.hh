// SPDX-License-Identifier: Apache-2.0
// A child process that a test stops and continues in the middle of a system call. Linux then interrupts some calls without
// any signal handler (signal(7)): those on sockets with a time-out, for example.
#pragma once

#include <functional>
#include <optional>

#include <sys/types.h>

namespace thinpipe {

class StoppableChild {
 public:
  // Runs `work` in a child, which prints what it throws.
  explicit StoppableChild(const std::function<void()>& work);
  // Kills the child unless it has ended.
  ~StoppableChild();
  StoppableChild(const StoppableChild&) = delete;
  StoppableChild& operator=(const StoppableChild&) = delete;
  StoppableChild(StoppableChild&&) = delete;
  StoppableChild& operator=(StoppableChild&&) = delete;

  // Waits until one of the child's threads blocks in this system call, such as SYS_recvfrom. Returns false if the child ends
  // first.
  bool wait_for_call(long number);

  // Returns false if the child has ended.
  bool stop_and_continue();

  // Waits for the end. Returns whether `work` returned.
  bool succeeds();

 private:
  // Waits until the child has ended or, with WUNTRACED, stopped. Returns its status.
  int wait(int options);

  pid_t pid_;
  std::optional<int> end_;  // the status
};

}  // namespace thinpipe
