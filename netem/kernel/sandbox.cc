// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/sandbox.hh"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/signals.hh"
#include "netem/kernel/id_map.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/netlink.hh"
#include "netem/kernel/refusal.hh"

namespace thinpipe::netem {
namespace {

constexpr const char* marker = "THINPIPE_SANDBOX";
constexpr const char* backlog_note = "THINPIPE_MAX_BACKLOG";

// Returns the name of this process's PID namespace; an environment inherited from another sandbox does not
// match it.
std::string pid_namespace() {
  std::array<char, 64> target{};
  const long length = system_call("read the link /proc/self/ns/pid",
                                  ::readlink("/proc/self/ns/pid", target.data(), target.size()));
  return {target.data(), static_cast<std::size_t>(length)};
}

// Passes a setting of the machine to the sandbox, because other network namespaces do not show it.
void note_backlog() {
  try {
    ::setenv(backlog_note, read_file("/proc/sys/net/core/netdev_max_backlog").c_str(), 1);
  } catch (const SystemError&) {
    // Inside another sandbox the variable is already set; in another container the value is unknown.
  }
}

// Blocks the signals that are passed on, and SIGCHLD, so that supervise() can wait for them and none is lost.
class PassedSignals {
 public:
  PassedSignals() : set_(signals_to_take({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD})) {
    system_call("block signals", ::sigprocmask(SIG_BLOCK, &set_, &before_));
  }
  ~PassedSignals() { restore(); }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  const ::sigset_t& set() const { return set_; }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  ::sigset_t set_;
  ::sigset_t before_{};
};

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Passes signals on to `child` until it ends; returns its exit code. `reaped`: the PID to wait for, or -1 to
// reap every orphan too.
int supervise(pid_t child, pid_t reaped, const PassedSignals& signals, Terminal terminal) {
  while (true) {
    ::siginfo_t info{};
    const int number = ::sigwaitinfo(&signals.set(), &info);
    if (number < 0) continue;  // EINTR: stopped and continued
    if (number != SIGCHLD) {
      // Signals from the kernel come from the terminal, which has sent them to the whole group.
      if (terminal == Terminal::controlled || info.si_code != SI_KERNEL) ::kill(child, number);
      continue;
    }
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(reaped, &status, WNOHANG)) > 0;) {
      if (ended == child) return exit_code(status);
    }
  }
}

[[noreturn]] void execute(const std::vector<std::string>& arguments, Terminal terminal,
                          const PassedSignals& signals) {
  // A signal that the program sends to its own group must not reach init.
  if (terminal == Terminal::controlled) system_call("make a process group", ::setpgid(0, 0));
  signals.restore();
  ::setenv(marker, pid_namespace().c_str(), 1);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execv("/proc/self/exe", pointers.data());
  throw SystemError("execute /proc/self/exe", errno);
}

// Runs as PID 1 of the sandbox. Writes a failure to `report`; otherwise `report` closes when the program
// runs.
[[noreturn]] void init(const std::vector<std::string>& arguments, Terminal terminal, Pipe go, Pipe report,
                       const PassedSignals& signals) {
  go.write_end.reset();
  report.read_end.reset();
  try {
    system_call("request to die with the outer process", ::prctl(PR_SET_PDEATHSIG, SIGKILL));
    char byte = 0;
    // End of file means that the outer process died or gave up. It may also have written and then died before
    // the request above took effect: while it lives, it holds its end open until the program runs.
    if (::read(go.read_end.get(), &byte, 1) != 1) ::_exit(1);
    pollfd outer{.fd = go.read_end.get(), .events = 0, .revents = 0};
    if (::poll(&outer, 1, 0) != 0) ::_exit(1);
    go.read_end.reset();
    // Leaves the terminal's foreground group; otherwise Ctrl-C would arrive twice: from the terminal and
    // passed on.
    if (terminal == Terminal::controlled) system_call("make a process group", ::setpgid(0, 0));
    system_call("make mounts private", ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    system_call("mount a new /proc",
                ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
    // Workers without hosts communicate over it.
    bring_up_device(NetlinkSocket(), loopback_name, loopback_ifindex);
    const pid_t program = system_call("fork inside the sandbox", ::fork());
    if (program == 0) execute(arguments, terminal, signals);
    report.write_end.reset();
    ::_exit(supervise(program, -1, signals, terminal));
  } catch (const std::exception& error) {
    const std::string_view message = error.what();
    // If this write fails too, the exit code still reports the failure.
    [[maybe_unused]] const auto written = ::write(report.write_end.get(), message.data(), message.size());
  }
  ::_exit(1);
}

}  // namespace

bool inside_sandbox() {
  const char* value = std::getenv(marker);
  return value != nullptr && value == pid_namespace();
}

int run_in_sandbox(const std::vector<std::string>& arguments, Terminal terminal) {
  // A caller's caller may have ignored it. The kernel would then reap the child itself, and supervise() wait
  // for ever.
  std::signal(SIGCHLD, SIG_DFL);
  note_backlog();
  const PassedSignals signals;
  Pipe go = Pipe::create();
  Pipe report = Pipe::create();
  constexpr int namespaces = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
  // A fork with flags, which glibc has no wrapper for; the arguments after the flags are zero for a fork.
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) init(arguments, terminal, std::move(go), std::move(report), signals);
  if (child < 0) throw Error(explain_refusal(SystemError("clone", errno).what(), "/proc"));
  report.write_end.reset();

  std::string failure;
  try {  // with both ends of `go` open: a child that died early must not raise SIGPIPE here
    write_id_maps(child);
    write_all(go.write_end, "1", "start the sandbox");
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  if (!failure.empty()) go = {};
  const std::string report_text = read_to_end(report.read_end, "read the sandbox's report");
  go = {};
  if (failure.empty()) failure = report_text;
  const int code = supervise(child, child, signals, terminal);
  if (!failure.empty()) throw Error(explain_refusal(failure, "/proc"));
  return code;
}

std::optional<std::size_t> machines_backlog() {
  const char* const noted = std::getenv(backlog_note);
  if (noted == nullptr) return std::nullopt;
  const std::size_t frames = std::strtoul(noted, nullptr, 10);
  return frames == 0 ? std::nullopt : std::optional(frames);
}

void forget_sandbox() {
  ::unsetenv(marker);
}

}  // namespace thinpipe::netem
