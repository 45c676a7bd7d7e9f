// The namespaces that the whole virtual network and every process of a run live in. The kernel takes all of
// it down when this program dies, however it dies.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::netem {

// Whether this process lives in a sandbox that run_in_sandbox made (and so may build a Network).
bool inside_sandbox();

// What the terminal's own signals (Ctrl-C, Ctrl-\\, Ctrl-Z, a hang-up) mean to the inner program.
enum class Terminal {
  // They are the program's alone: it gets a process group of its own, in which none of them reaches its
  // children, and is told of them.
  controlled,
  // It shares the caller's process group, so that they reach it and its children straight from the terminal,
  // as
  // they do any command; they are not passed on a second time.
  shared,
};

// Runs this program again with `arguments` (arguments[0] is its name) in new user, network, mount, PID and
// IPC namespaces, waits for it, and returns its exit code (128 + n when signal n ended it).
//
// Call it from a process that has a single thread. In the sandbox the caller is user 0, PID 1 is a small init
// that reaps orphans, and the program is its child with ordinary signal handling. SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGUSR1 and SIGUSR2 sent to the outer process, by a terminal or by anyone, reach the inner program
// exactly once; see Terminal for its children. If the outer process dies by any means, everything inside
// dies.
//
// Throws Error naming what forbids it, and the remedies, where the namespaces cannot be made.
int run_in_sandbox(const std::vector<std::string>& arguments, Terminal terminal = Terminal::controlled);

// How many frames the machine's kernel queues for one processor (net.core.netdev_max_backlog), as the outer
// process saw it; nullopt if nobody knows.
std::optional<std::size_t> machines_backlog();

// Takes the sandbox's mark from the environment, for a program that is no part of this one: a thinpipe that
// it starts makes a sandbox of its own, and so leaves nothing behind however it ends.
void forget_sandbox();

// Why namespaces are refused and what to do about it, from the settings under `proc` ("/proc"). `failure` is
// what the kernel answered.
std::string explain_refusal(std::string_view failure, const std::string& proc);

}  // namespace thinpipe::netem
