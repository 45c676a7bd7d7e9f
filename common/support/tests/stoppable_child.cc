// SPDX-License-Identifier: Apache-2.0
#include "common/support/tests/stoppable_child.hh"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// proc(5): the call's number and arguments, or "running".
bool blocks_in(const fs::path& thread, long number) {
  std::ifstream file(thread / "syscall");
  long found = -1;
  return file >> found && found == number;
}

}  // namespace

StoppableChild::StoppableChild(const std::function<void()>& work) : pid_(system_call("fork", ::fork())) {
  if (pid_ != 0) return;
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "the child: {}\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

StoppableChild::~StoppableChild() {
  if (end_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int StoppableChild::wait(int options) {
  if (end_) return *end_;
  int status = 0;
  system_call("wait for the child", ::waitpid(pid_, &status, options));
  if (!WIFSTOPPED(status)) end_ = status;
  return status;
}

bool StoppableChild::wait_for_call(long number) {
  while (true) {
    std::error_code gone;
    for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid_), gone)) {
      if (blocks_in(thread.path(), number)) return true;
    }
    siginfo_t info{};
    system_call("look whether the child has ended",
                ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT));
    if (info.si_pid != 0) return false;
    std::this_thread::yield();
  }
}

bool StoppableChild::stop_and_continue() {
  ::kill(pid_, SIGSTOP);
  if (!WIFSTOPPED(wait(WUNTRACED))) return false;
  ::kill(pid_, SIGCONT);
  return true;
}

bool StoppableChild::succeeds() {
  return wait(0) == 0;
}

}  // namespace thinpipe
