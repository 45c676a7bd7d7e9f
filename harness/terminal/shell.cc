#include "harness/terminal/shell.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "common/support/standard_streams.hh"
#include "harness/terminal/terminal_guard.hh"
#include "netem/kernel/host_names.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
// Limit on reads of a command's output before signals are handled again.
constexpr int pieces_per_turn = 16;
// Longer lines of output are printed in pieces.
constexpr std::size_t max_line_bytes = std::size_t{1} << 16;

int exit_code(const ExitStatus& status) {
  return status.signal != 0 ? 128 + status.signal : status.code;
}

std::string users_shell() {
  const char* const named = std::getenv("SHELL");
  return named != nullptr && *named != '\0' ? named : "/bin/sh";
}

// Returns the variables that show the host in a shell's prompt. Bash sets its prompt after it has started, so
// PROMPT_COMMAND adds the host.
std::vector<std::pair<std::string, std::string>> prompt(const std::string& shell, const std::string& host) {
  const char* const outer = std::getenv("THINPIPE_PROMPT");  // of the shell that this one is nested in
  const std::string text = fmt::format("{}[{}] ", outer == nullptr ? "" : outer, host);
  if (std::filesystem::path(shell).filename() == "bash") {
    return {{"THINPIPE_PROMPT", text},
            {"PROMPT_COMMAND", R"(PS1="$THINPIPE_PROMPT$PS1"; unset PROMPT_COMMAND)"}};
  }
  return {{"THINPIPE_PROMPT", text}, {"PS1", text + "$ "}};
}

// Returns the number of sockets in the process's network namespace, in any state; 0 if the process has ended.
std::size_t count_sockets(pid_t process) {
  std::size_t count = 0;
  for (const char* const kind : {"tcp", "tcp6", "udp", "udp6", "raw", "packet"}) {
    try {
      const std::string table = read_file(fmt::format("/proc/{}/net/{}", process, kind));
      count += static_cast<std::size_t>(std::max<std::ptrdiff_t>(std::ranges::count(table, '\n') - 1, 0));
    } catch (const SystemError&) {
      // A kernel without this kind of socket, or a process that has ended.
    }
  }
  return count;
}

struct Started {
  std::string host;
  bool interactive = false;
  ChildProcess process;
  FileDescriptor output;  // of a command in the background
  std::string unprinted = {};
  std::optional<int> code = {};
};

class Commands {
 public:
  Commands(const netem::Network& network, const FileDescriptor& signals)
      : network_(network), signals_(signals) {}

  int run(const std::vector<ShellCommand>& commands) {
    for (const ShellCommand& command : commands) {
      const bool last = &command == &commands.back();
      try {
        start(command, last);
      } catch (const Error& error) {
        print_stderr("thinpipe: {}\n", error.what());
        first_failure_ = first_failure_.value_or(cannot_start);
        return end_all();
      }
      if (!last) wait_for_socket(started_.back());
      if (given_up_) return end_all();
    }
    while (!started_.back().code && !given_up_) step(-1ms);
    return end_all();
  }

 private:
  void start(const ShellCommand& command, bool foreground) {
    const netem::Host& host = network_.host(command.host);
    const bool interactive = command.arguments.empty();
    ChildProcess::Options options{
        .arguments = command.arguments,
        .environment = {{"THINPIPE_TOPOLOGY", network_.topology().name}, {"THINPIPE_HOST", command.host}}};
    Pipe output;
    if (interactive) {
      options.arguments = {users_shell()};
      std::ranges::move(prompt(options.arguments[0], command.host), std::back_inserter(options.environment));
    }
    if (foreground) {
      options.standard_input = STDIN_FILENO;
    } else {
      output = Pipe::create();
      options.standard_output = options.standard_error = output.write_end.get();
    }
    options.before_exec = [&] {
      host.enter();
      netem::resolve_names(network_.hosts());
      system_call("create a namespace for the host's name", ::unshare(CLONE_NEWUTS));
      system_call("set the host's name", ::sethostname(command.host.data(), command.host.size()));
      netem::forget_sandbox();
      if (interactive) take_foreground();
    };
    started_.push_back({command.host, interactive, ChildProcess(options), std::move(output.read_end)});
    if (!foreground) {
      system_call("make a pipe non-blocking", ::fcntl(started_.back().output.get(), F_SETFL, O_NONBLOCK));
    }
  }

  // Waits until the command opens a socket, because a server must be ready before its clients.
  void wait_for_socket(Started& started) {
    std::size_t& seen = sockets_[started.host];
    const auto deadline = Clock::now() + std::chrono::duration<double>(max_wait_for_socket_s);
    while (!started.code && !given_up_ && Clock::now() < deadline) {
      const std::size_t sockets = count_sockets(started.process.pid());
      if (sockets > seen) {
        seen = sockets;
        return;
      }
      step(10ms);
    }
  }

  // Waits for the next event, up to `at_most` (without limit if negative), and handles it.
  void step(std::chrono::milliseconds at_most) {
    std::vector<pollfd> waiting = {{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
    for (const Started& one : started_) {
      if (!one.code) waiting.push_back({.fd = one.process.pidfd().get(), .events = POLLIN, .revents = 0});
      if (one.output) waiting.push_back({.fd = one.output.get(), .events = POLLIN, .revents = 0});
    }
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(at_most.count()));
    if (ready < 0 && errno != EINTR) throw SystemError("wait for the commands", errno);
    take_signals();
    for (Started& one : started_) {
      if (one.output) print_output(one);
      if (!one.code) {
        if (const auto status = one.process.try_wait()) finish(one, *status);
      }
    }
  }

  void take_signals() {
    signalfd_siginfo arrived{};
    while (::read(signals_.get(), &arrived, sizeof arrived) > 0) {
      const int number = static_cast<int>(arrived.ssi_signo);
      if (number == SIGCHLD) {
        resume_stopped();
      } else if (arrived.ssi_code != SI_KERNEL) {  // the terminal's signals reach the commands directly
        pass_on(number);
      }
    }
  }

  void pass_on(int number) {
    const bool ending = number != SIGUSR1 && number != SIGUSR2;
    for (const Started& one : started_) {
      // Interactive shells end only on SIGHUP.
      one.process.signal(ending && one.interactive ? SIGHUP : number);
    }
    if (ending && !given_up_) given_up_ = 128 + number;
  }

  // Resumes a shell that suspends itself: nobody else can, and the wait for it would never end.
  void resume_stopped() {
    for (const Started& one : started_) {
      siginfo_t info{};
      if (!one.interactive || one.code) continue;
      if (::waitid(P_PID, static_cast<id_t>(one.process.pid()), &info, WSTOPPED | WNOHANG) == 0 &&
          info.si_pid == one.process.pid()) {
        one.process.signal(SIGCONT);
      }
    }
  }

  void finish(Started& one, const ExitStatus& status) {
    one.code = exit_code(status);
    if (one.code != 0 && !ending_) first_failure_ = first_failure_.value_or(*one.code);
  }

  static void print_output(Started& one) {
    std::array<char, 65536> buffer{};
    ssize_t got = 1;
    // A command that writes without end must not delay signals.
    for (int pieces = 0; got > 0 && pieces < pieces_per_turn; ++pieces) {
      got = ::read(one.output.get(), buffer.data(), buffer.size());
      if (got <= 0) break;
      one.unprinted.append(buffer.data(), static_cast<std::size_t>(got));
      print_lines(one, false);
    }
    if (got > 0 || (got < 0 && errno == EAGAIN)) return;
    print_lines(one, true);
    one.output.reset();
  }

  static void print_lines(Started& one, bool all) {
    const auto print = [&one](std::string_view line) { print_stderr("{}: {}\n", one.host, line); };
    for (std::size_t end = 0; (end = one.unprinted.find('\n')) != std::string::npos;) {
      print(std::string_view(one.unprinted).substr(0, end));
      one.unprinted.erase(0, end + 1);
    }
    if (one.unprinted.empty() || (!all && one.unprinted.size() < max_line_bytes)) return;
    print(one.unprinted);
    one.unprinted.clear();
  }

  // Ends the commands that still run. Returns the exit code of the whole.
  int end_all() {
    ending_ = true;
    if (!given_up_) {  // the signal has been passed on to them
      for (const Started& one : started_) one.process.signal(SIGTERM);
    }
    const auto deadline = Clock::now() + std::chrono::duration<double>(time_to_end_s);
    const auto runs = [](const Started& one) { return !one.code; };
    while (std::ranges::any_of(started_, runs) && Clock::now() < deadline) step(10ms);
    for (Started& one : started_) {
      one.process.signal(SIGKILL);
      if (one.output) print_output(one);
      if (one.output) print_lines(one, true);
    }
    return given_up_.value_or(first_failure_.value_or(0));
  }

  const netem::Network& network_;
  const FileDescriptor& signals_;
  std::list<Started> started_;
  std::map<std::string, std::size_t> sockets_;  // number seen so far, by host
  std::optional<int> first_failure_;
  std::optional<int> given_up_;  // exit code after a signal
  bool ending_ = false;
};

}  // namespace

Shell::Shell() {
  ::sigset_t held;
  ::sigemptyset(&held);
  for (const int number : passed_on) ::sigaddset(&held, number);
  ::sigaddset(&held, SIGCHLD);
  signals_ =
      FileDescriptor(system_call("create a signalfd", ::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK)));
  system_call("block signals", ::sigprocmask(SIG_BLOCK, &held, &before_));
}

Shell::~Shell() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int Shell::run(const netem::Network& network, const std::vector<ShellCommand>& commands) {
  // A signal that came before the first command ends everything.
  signalfd_siginfo arrived{};
  while (::read(signals_.get(), &arrived, sizeof arrived) > 0) {
    if (arrived.ssi_signo != SIGCHLD) return 128 + static_cast<int>(arrived.ssi_signo);
  }
  return Commands(network, signals_).run(commands);
}

}  // namespace thinpipe
