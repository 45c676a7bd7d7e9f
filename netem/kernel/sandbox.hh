// SPDX-License-Identifier: Apache-2.0
// The namespaces in which the virtual network and every process of a run live. The kernel removes all of it
// when this program ends, however it ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe::netem {

// Returns true if this process is inside a sandbox that run_in_sandbox made, and so may build a Network.
bool inside_sandbox();

// How the terminal's own signals (Ctrl-C, Ctrl-\\, a hang-up) reach the inner program.
enum class Terminal {
  // Only the program gets them, passed on by the outer process. It has its own process group, so that none of
  // them reaches its children. Ctrl-Z is not passed on: it stops the outer process, and the program runs on.
  controlled,
  // The program shares the caller's process group, so they reach it and its children directly from the
  // terminal, as they do any command, and so does Ctrl-Z. They are not passed on a second time.
  shared,
};

// Runs this program again with `arguments` (arguments[0] is its name) in new user, network, mount, PID and
// IPC namespaces, waits for it, and returns its exit code (128 + n if signal n ended it).
//
// Call it from a process that has a single thread. In the sandbox the caller is user 0, PID 1 is a small init
// that reaps orphans, and the program is its child with ordinary signal handling. SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGUSR1 and SIGUSR2 sent to the outer process, by a terminal or by another process, reach the
// inner program exactly once; see Terminal for its children. If the outer process dies, everything inside
// dies.
//
// If the namespaces cannot be created, throws Error naming the obstacle and the remedies.
int run_in_sandbox(const std::vector<std::string>& arguments, Terminal terminal = Terminal::controlled);

// Returns how many frames the machine's kernel queues per CPU (net.core.netdev_max_backlog), as the outer
// process read it; nullopt if unknown.
std::optional<std::size_t> machines_backlog();

// Removes the sandbox's mark from the environment, before starting a program that is not part of this one. A
// thinpipe that it starts then makes a sandbox of its own, and leaves nothing behind however it ends.
void forget_sandbox();

}  // namespace thinpipe::netem
