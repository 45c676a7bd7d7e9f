// SPDX-License-Identifier: Apache-2.0
#include "common/support/child_process.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// In the child: makes `source` the standard stream `target`. A negative `source` leaves it as it is.
void become(int source, int target) {
  if (source < 0) return;
  if (source == target) {
    // dup2 would be a no-op that leaves close-on-exec set.
    system_call("keep a standard stream", ::fcntl(target, F_SETFD, 0));
  } else {
    system_call("redirect a standard stream", ::dup2(source, target));
  }
}

// In the child: executes the program, or writes the reason for a failure to `report` and exits.
[[noreturn]] void execute(const ChildProcess::Options& options, pid_t parent, const FileDescriptor& report) {
  try {
    system_call("set the parent death signal", ::prctl(PR_SET_PDEATHSIG, SIGKILL));
    if (::getppid() != parent) ::_exit(127);  // the parent died before the line above took effect
    ::sigset_t none;
    ::sigemptyset(&none);
    system_call("unblock signals", ::sigprocmask(SIG_SETMASK, &none, nullptr));
    const FileDescriptor null = FileDescriptor::open("/dev/null", O_RDWR);
    become(options.standard_input < 0 ? null.get() : options.standard_input, STDIN_FILENO);
    become(options.standard_output, STDOUT_FILENO);
    become(options.standard_error, STDERR_FILENO);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (options.before_exec) options.before_exec();
    std::vector<char*> arguments;
    for (const std::string& argument : options.arguments)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    throw SystemError("execute " + options.arguments[0], errno);
  } catch (const std::exception& error) {
    const std::string_view message = error.what();
    // If even this write fails, only the exit code reports the failure.
    [[maybe_unused]] const auto written = ::write(report.get(), message.data(), message.size());
  }
  ::_exit(127);
}

// Blocks until the pipe is ready, or the child has ended. Returns whether it has ended.
bool wait_for(const FileDescriptor& pipe, short event, const ChildProcess& child) {
  std::array<pollfd, 2> waited{{{.fd = pipe.get(), .events = event, .revents = 0},
                                {.fd = child.pidfd().get(), .events = POLLIN, .revents = 0}}};
  while (::poll(waited.data(), waited.size(), -1) < 0) {
    if (errno != EINTR) throw SystemError("wait for a child or its pipe", errno);
  }
  return waited[1].revents != 0;
}

// Writes the input until the child has taken it or has ended. A child that ends without reading is judged by
// its exit status, not by a broken pipe, and one that left the pipe to a process of its own is not waited
// for.
void feed(const FileDescriptor& pipe, std::string_view input, const ChildProcess& child,
          const std::string& attempt) {
  system_call(attempt, ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK));
  while (!input.empty() && !wait_for(pipe, POLLOUT, child)) {
    const ssize_t written = ::write(pipe.get(), input.data(), input.size());
    if (written < 0 && errno == EPIPE) return;
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    system_call(attempt, written);
    input.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Reads to the end of file, or all that is in the pipe when the child has ended: a process that it leaves
// behind may hold the pipe open, and write to it, for ever.
std::string read_output(const FileDescriptor& pipe, const ChildProcess& child, const std::string& attempt) {
  std::string out;
  std::array<char, 65536> buffer{};
  const auto read_up_to = [&](std::size_t bytes) {
    ssize_t got = 0;
    do {
      got = ::read(pipe.get(), buffer.data(), std::min(bytes, buffer.size()));
    } while (got < 0 && errno == EINTR);
    system_call(attempt, got);
    out.append(buffer.data(), static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got);
  };
  while (!wait_for(pipe, POLLIN, child)) {
    if (read_up_to(buffer.size()) == 0) return out;
  }
  int left = 0;
  system_call(attempt, ::ioctl(pipe.get(), FIONREAD, &left));
  for (auto bytes = static_cast<std::size_t>(left); bytes > 0;) bytes -= read_up_to(bytes);
  return out;
}

}  // namespace

std::string ExitStatus::describe() const {
  return signal != 0 ? fmt::format("signal {} ({})", signal, ::strsignal(signal))
                     : fmt::format("exit code {}", code);
}

ChildProcess::ChildProcess(const Options& options) {
  Pipe report = Pipe::create();
  const pid_t parent = ::getpid();
  pid_ = system_call("fork for " + options.arguments.at(0), ::fork());
  if (pid_ == 0) execute(options, parent, report.write_end);
  try {
    report.write_end.reset();
    // The pipe closes on exec, so end of file without any data means that the program is running.
    const std::string failure = read_to_end(report.read_end, "wait for the start of " + options.arguments[0]);
    if (!failure.empty()) {
      wait();
      throw Error(fmt::format("cannot start {}: {}", options.arguments[0], failure));
    }
    // Uses syscall() because Debian 12's glibc has no wrapper in a header that is safe for C++.
    pidfd_ = FileDescriptor(static_cast<int>(
        system_call("open a pidfd of " + options.arguments[0], ::syscall(SYS_pidfd_open, pid_, 0))));
  } catch (...) {
    end();  // without a whole object there is no destructor to do it
    throw;
  }
}

ChildProcess::~ChildProcess() {
  end();
}

void ChildProcess::end() noexcept {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(status_, other.status_);
  return *this;
}

void ChildProcess::signal(int number) const {
  if (pid_ >= 0 && !status_) ::kill(pid_, number);
}

ExitStatus ChildProcess::wait() {
  return *reap(0);
}

std::optional<ExitStatus> ChildProcess::try_wait() {
  return reap(WNOHANG);
}

std::optional<ExitStatus> ChildProcess::reap(int wait_options) {
  if (status_) return status_;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, wait_options);
  } while (ended < 0 && errno == EINTR);
  system_call(fmt::format("wait for process {}", pid_), ended);
  if (ended == 0) return std::nullopt;
  status_ = WIFSIGNALED(status) ? ExitStatus{0, WTERMSIG(status)} : ExitStatus{WEXITSTATUS(status), 0};
  return status_;
}

Output run_program(const std::vector<std::string>& arguments, const std::string& input) {
  Pipe to_child = Pipe::create();
  Pipe from_child = Pipe::create();
  ChildProcess child({.arguments = arguments,
                      .standard_input = to_child.read_end.get(),
                      .standard_output = from_child.write_end.get()});
  to_child.read_end.reset();
  from_child.write_end.reset();
  // A thread feeds the child: otherwise a child that writes before it has read everything could block both.
  std::exception_ptr feeding_failure;
  std::jthread feeder([&] {
    try {
      ::sigset_t pipe_signal;
      ::sigemptyset(&pipe_signal);
      ::sigaddset(&pipe_signal, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
      feed(to_child.write_end, input, child, "feed " + arguments[0]);
    } catch (const SystemError&) {
      feeding_failure = std::current_exception();
    }
    to_child.write_end.reset();
  });
  Output output;
  output.text = read_output(from_child.read_end, child, "read from " + arguments[0]);
  feeder.join();
  if (feeding_failure) std::rethrow_exception(feeding_failure);
  output.status = child.wait();
  return output;
}

}  // namespace thinpipe
