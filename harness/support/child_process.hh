// A child process that never outlives its owner: its destructor kills and reaps it, and the kernel kills it
// when this process dies by any means.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "harness/support/file_descriptor.hh"

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
    int standard_input = -1;             // a descriptor to become fd 0, 1 or 2; -1: /dev/null for input,
    int standard_output = -1;            // this process's own for output and error
    int standard_error = -1;
    std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
    // Runs in the child just before exec. May throw; the message reaches the parent as the constructor's
    // Error.
    std::function<void()> before_exec = {};
  };

  // Starts the program; throws Error naming it when it cannot be executed.
  explicit ChildProcess(const Options& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Becomes readable when the child has ended: for an event loop.
  const FileDescriptor& pidfd() const { return pidfd_; }

  // Sends a signal; a child that has ended already is no error.
  void signal(int number) const;
  // Blocks until the child ends and reaps it.
  ExitStatus wait();
  // The status if it has ended, reaping it.
  std::optional<ExitStatus> try_wait();

 private:
  std::optional<ExitStatus> reap(int wait_options);

  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  std::optional<ExitStatus> status_;
};

// Runs a program to its end and returns what it wrote to standard output; `input` is fed to its standard
// input.
struct Output {
  std::string text;
  ExitStatus status;
};
Output run_program(const std::vector<std::string>& arguments, const std::string& input = {});

}  // namespace thinpipe
