// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/shell.hh"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "common/support/standard_streams.hh"
#include "harness/terminal/host_command.hh"
#include "harness/terminal/line_relay.hh"
#include "harness/terminal/terminal_guard.hh"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

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
  std::optional<LineRelay> output;  // of a command in the background
  std::optional<int> code = {};
};

class Commands {
 public:
  Commands(const netem::HostList& hosts, const CommandSignals& signals) : hosts_(hosts), signals_(signals) {}

  int run(const std::vector<ShellCommand>& commands) {
    for (const ShellCommand& command : commands) {
      const bool last = &command == &commands.back();
      try {
        start(command, last);
      } catch (const std::exception& error) {
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
    const netem::Host& host = hosts_.find(command.host);
    const bool interactive = command.arguments.empty();
    ChildProcess::Options options{.arguments = command.arguments,
                                  .environment = host_variables(hosts_, command.host)};
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
      enter_host(hosts_, host);
      if (interactive) take_foreground();
    };
    started_.push_back({command.host, interactive, ChildProcess(options), {}});
    if (!foreground) {
      started_.back().output.emplace(std::move(output.read_end), command.host + ": ", stderr);
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
    std::vector<pollfd> waiting = {{.fd = signals_.descriptor().get(), .events = POLLIN, .revents = 0}};
    for (const Started& one : started_) {
      if (!one.code) waiting.push_back({.fd = one.process.pidfd().get(), .events = POLLIN, .revents = 0});
      if (has_output(one)) {
        waiting.push_back({.fd = one.output->source().get(), .events = POLLIN, .revents = 0});
      }
    }
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(at_most.count()));
    if (ready < 0 && errno != EINTR) throw SystemError("wait for the commands", errno);
    take_signals();
    for (Started& one : started_) {
      if (has_output(one)) one.output->relay();
      if (!one.code) {
        if (const auto status = one.process.try_wait()) finish(one, *status);
      }
    }
  }

  void take_signals() {
    while (const auto arrived = signals_.take()) {
      if (arrived->number == SIGCHLD) {
        resume_stopped();
      } else if (!arrived->from_terminal) {  // the terminal's signals reach the commands directly
        pass_on(arrived->number);
      }
    }
  }

  void pass_on(int number) {
    const bool ending = asks_to_end(number);
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

  static bool has_output(const Started& one) { return one.output && one.output->source(); }

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
      if (one.output) one.output->finish();
    }
    return given_up_.value_or(first_failure_.value_or(0));
  }

  netem::HostList hosts_;
  const CommandSignals& signals_;
  std::list<Started> started_;
  std::map<std::string, std::size_t> sockets_;  // number seen so far, by host
  std::optional<int> first_failure_;
  std::optional<int> given_up_;  // exit code after a signal
  bool ending_ = false;
};

}  // namespace

int run_shell(const netem::HostList& hosts, const std::vector<ShellCommand>& commands,
              const CommandSignals& signals) {
  if (const auto code = signals.early_exit_code()) return *code;
  return Commands(hosts, signals).run(commands);
}

}  // namespace thinpipe
