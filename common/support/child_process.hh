// SPDX-License-Identifier: Apache-2.0
// A child process that never outlives its owner: its destructor kills and reaps it, and the kernel kills it
// when this process dies by any means.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

struct ExitStatus {
  int code = 0;    // exit code; meaningful when signal is 0
  int signal = 0;  // the signal that ended it, or 0

  bool ok() const { return code == 0 && signal == 0; }
  // "exit code 3" or "signal 9 (Killed)".
  std::string describe() const;
};

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;  // arguments[0] is the program's path
    // The child's descriptors 0, 1 and 2. -1: /dev/null for input; output and error are inherited.
    int standard_input = -1;
    int standard_output = -1;
    int standard_error = -1;
    std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
    // Runs in the child just before exec. If it throws, the constructor throws Error with its message.
    std::function<void()> before_exec = {};
  };

  // Starts the program; throws Error with its name if it cannot be executed.
  explicit ChildProcess(const Options& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Becomes readable when the child has ended, for use in an event loop.
  const FileDescriptor& pidfd() const { return pidfd_; }

  // Sends a signal; does nothing if the child has already ended.
  void signal(int number) const;
  // Blocks until the child ends and reaps it.
  ExitStatus wait();
  // Reaps the child if it has ended and returns its status; otherwise nullopt.
  std::optional<ExitStatus> try_wait();

 private:
  // Kills and reaps the child unless that has happened.
  void end() noexcept;
  std::optional<ExitStatus> reap(int wait_options);

  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  std::optional<ExitStatus> status_;
};

struct Output {
  std::string text;
  ExitStatus status;
};
// Runs a program to its end with `input` on its standard input. Returns its standard output and exit status.
// Does not wait for processes that it leaves behind.
Output run_program(const std::vector<std::string>& arguments, const std::string& input = {});

}  // namespace thinpipe
