// SPDX-License-Identifier: Apache-2.0
// thinpipe shell on a terminal: job control, Ctrl-C and Ctrl-Z, the prompt, and the terminal afterwards.
#include <array>
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using namespace std::chrono_literals;

const std::string thinpipe_program = built_program("thinpipe");
constexpr const char* ctrl_c = "\x03";
constexpr const char* ctrl_z = "\x1a";
constexpr const char* ctrl_backslash = "\x1c";

// A program in the foreground of its own terminal, as after a login.
class TerminalSession {
 public:
  explicit TerminalSession(const std::vector<std::string>& arguments) {
    int terminal = -1;
    pid_ = system_call("fork on a terminal", ::forkpty(&terminal, nullptr, nullptr, nullptr));
    if (pid_ == 0) {
      ::setenv("SHELL", "/bin/bash", 1);
      ::setenv("HOME", folder_.path().c_str(), 1);  // without anybody's settings
      ::setenv("PS1", "outer> ", 1);
      ::setenv("TERM", "dumb", 1);
      std::vector<char*> pointers;
      for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(126);
    }
    terminal_ = FileDescriptor(terminal);
  }
  ~TerminalSession() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  TerminalSession(const TerminalSession&) = delete;
  TerminalSession& operator=(const TerminalSession&) = delete;

  void type(const std::string& text) const { write_all(terminal_, text, "type"); }

  // Reads until the text has appeared; discards the output up to its end.
  bool shows(const std::string& text, std::chrono::milliseconds within = 15s) {
    const bool found = finds(text, within);
    EXPECT_TRUE(found) << "the terminal does not show \"" << text << "\" but \"" << screen_ << "\"";
    return found;
  }

  // Presses the key until the text appears, because the foreground process changes at unknown moments.
  bool shows_after(const std::string& key, const std::string& text) {
    for (int i = 0; i < 50; ++i) {
      type(key);
      if (finds(text, 300ms)) return true;
    }
    return shows(text);
  }

  int wait() {
    int status = 0;
    const auto ended = [&] {
      return system_call("wait for the session", ::waitpid(pid_, &status, WNOHANG)) == pid_;
    };
    if (!eventually(ended, 30s)) {
      ADD_FAILURE() << "the session does not end; unread on its terminal: \"" << screen_ << "\"";
      return -1;
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  bool finds(const std::string& text, std::chrono::milliseconds within) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    std::array<char, 4096> buffer{};
    while (true) {
      if (const std::size_t at = screen_.find(text); at != std::string::npos) {
        screen_.erase(0, at + text.size());
        return true;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd readable{.fd = terminal_.get(), .events = POLLIN, .revents = 0};
      if (left <= 0ms || ::poll(&readable, 1, static_cast<int>(left.count())) != 1) return false;
      const ssize_t got = ::read(terminal_.get(), buffer.data(), buffer.size());
      if (got <= 0) return false;
      screen_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  TemporaryFolder folder_;
  pid_t pid_ = -1;
  FileDescriptor terminal_;
  std::string screen_;
};

const std::string prompt = "[w3] ";
// Prints when it has the foreground; the shell echoes the command before that, without this text.
constexpr const char* sleeper = "sh -c 'echo go\"\"ing; exec sleep 1000'\n";

TEST(ShellTerminal, APromptShowsTheHostAndTheExitStatusPassesThrough) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--host", "w3"});
  EXPECT_TRUE(session.shows("In host w3 (10.77.0.4) of three-switch"));
  EXPECT_TRUE(session.shows(prompt));
  session.type("hostname; echo user=$(id -u)\n");
  EXPECT_TRUE(session.shows("\nw3\r\nuser=0\r\n"));
  EXPECT_TRUE(session.shows(prompt));
  session.type("exit 5\n");
  EXPECT_EQ(session.wait(), 5);
}

TEST(ShellTerminal, ControlCEndsWhatTheShellRunsButNotTheShell) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--host", "w3"});
  EXPECT_TRUE(session.shows(prompt));
  session.type(sleeper);
  EXPECT_TRUE(session.shows("\ngoing\r\n"));
  session.type(ctrl_c);
  EXPECT_TRUE(session.shows(prompt));
  session.type("echo status=$?\n");
  EXPECT_TRUE(session.shows("\nstatus=130"));
  EXPECT_TRUE(session.shows(prompt));
  session.type("exit 7\n");
  EXPECT_EQ(session.wait(), 7);
}

TEST(ShellTerminal, TheShellControlsJobs) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--host", "w3"});
  EXPECT_TRUE(session.shows(prompt));
  session.type(sleeper);
  EXPECT_TRUE(session.shows("\ngoing\r\n"));
  session.type(ctrl_z);
  EXPECT_TRUE(session.shows("Stopped"));
  EXPECT_TRUE(session.shows(prompt));
  session.type("bg; jobs\n");
  EXPECT_TRUE(session.shows("Running"));
  session.type("fg; echo status=$?\n");
  EXPECT_TRUE(session.shows("exec sleep 1000'\r\n"));
  EXPECT_TRUE(session.shows_after(ctrl_c, prompt));
  session.type("exit 0\n");
  EXPECT_EQ(session.wait(), 0);
}

TEST(ShellTerminal, AShellThatSuspendsItselfGoesOn) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--host", "w3"});
  EXPECT_TRUE(session.shows(prompt));
  session.type("suspend\n");
  session.type("exit 6\n");
  EXPECT_EQ(session.wait(), 6);
}

TEST(ShellTerminal, NestedPromptsShowTheWayIn) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--host", "w3"});
  EXPECT_TRUE(session.shows(prompt));
  session.type(thinpipe_program + " shell three-switch --host w6\n");
  EXPECT_TRUE(session.shows("[w3] [w6] "));
  session.type("exit 9\n");
  EXPECT_TRUE(session.shows(prompt));
  session.type("exit $?\n");
  EXPECT_EQ(session.wait(), 9);
}

TEST(ShellTerminal, ControlCEndsACommand) {
  TerminalSession session(
      {thinpipe_program, "shell", "three-switch", "--", "sh", "-c", "echo going; exec sleep 1000"});
  EXPECT_TRUE(session.shows("going\r\n"));
  session.type(ctrl_c);
  EXPECT_EQ(session.wait(), 128 + SIGINT);
}

TEST(ShellTerminal, ControlCArrivesOnceAndIsTheCommandsToAnswer) {
  TerminalSession session(
      {thinpipe_program, "shell", "three-switch", "--", "bash", "-c",
       "n=0; trap 'n=$((n+1)); echo n=$n' INT; echo going; for i in 1 2 3 4 5; do sleep 0.2; done; "
       "echo end=$n; exit 4"});
  EXPECT_TRUE(session.shows("going\r\n"));
  session.type(ctrl_c);
  EXPECT_TRUE(session.shows("end=1\r\n"));
  EXPECT_EQ(session.wait(), 4);
}

TEST(ShellTerminal, ControlBackslashEndsACommand) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--", "sh", "-c",
                           "ulimit -c 0; echo going; exec sleep 1000"});
  EXPECT_TRUE(session.shows("going\r\n"));
  session.type(ctrl_backslash);
  EXPECT_EQ(session.wait(), 128 + SIGQUIT);
}

TEST(ShellTerminal, ControlCEndsAllOfSeveralCommands) {
  TerminalSession session({thinpipe_program, "shell", "three-switch", "--", "sleep", "1000", "--and",
                           "--host", "w4", "--", "sh", "-c", "echo going; exec sleep 1000"});
  EXPECT_TRUE(session.shows("going\r\n"));
  session.type(ctrl_c);
  EXPECT_EQ(session.wait(), 128 + SIGINT);
}

TEST(ShellTerminal, TheTerminalGoesBackToTheShellOutside) {
  TerminalSession session({"/bin/bash", "--norc", "-i"});
  EXPECT_TRUE(session.shows("outer> "));
  session.type(thinpipe_program + " shell three-switch --host w3\n");
  EXPECT_TRUE(session.shows(prompt));
  session.type("exit 3\n");
  EXPECT_TRUE(session.shows("outer> "));
  session.type("echo status=$?\n");
  EXPECT_TRUE(session.shows("\nstatus=3\r\n"));
  // A script does not take the foreground back, so this program must.
  session.type("bash -c '" + thinpipe_program +
               " shell three-switch --host w3; read -p answer= line; echo got $line'\n");
  EXPECT_TRUE(session.shows(prompt));
  session.type("exit\n");
  EXPECT_TRUE(session.shows("answer="));
  session.type("this\n");
  EXPECT_TRUE(session.shows("\ngot this\r\n"));
  session.type("exit 0\n");
  EXPECT_EQ(session.wait(), 0);
}

TEST(ShellTerminal, ACommandCanBeStoppedAndContinuedFromOutside) {
  TerminalSession session({"/bin/bash", "--norc", "-i"});
  EXPECT_TRUE(session.shows("outer> "));
  session.type(thinpipe_program + " shell three-switch -- sh -c 'echo going; exec sleep 1000'\n");
  EXPECT_TRUE(session.shows("\ngoing\r\n"));
  session.type(ctrl_z);
  EXPECT_TRUE(session.shows("Stopped"));
  EXPECT_TRUE(session.shows("outer> "));
  session.type("fg\n");
  EXPECT_TRUE(session.shows("exec sleep 1000'\r\n"));
  EXPECT_TRUE(session.shows_after(ctrl_c, "outer> "));
  session.type("echo status=$?\n");
  EXPECT_TRUE(session.shows("\nstatus=130\r\n"));
  session.type("exit 0\n");
  EXPECT_EQ(session.wait(), 0);
}

}  // namespace
}  // namespace thinpipe
