// The namespaces that the whole virtual network and every process of a run live in. The kernel takes all of
// it down when this program dies, however it dies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::netem {

// Whether this process lives in a sandbox that run_in_sandbox made (and so may build a Network).
bool inside_sandbox();

// Runs this program again with `arguments` (arguments[0] is its name) in new user, network, mount, PID and
// IPC namespaces, waits for it, and returns its exit code (128 + n when signal n ended it).
//
// Call it from a process that has a single thread. In the sandbox the caller is user 0, PID 1 is a small init
// that reaps orphans, and the program is its child with ordinary signal handling. SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGUSR1 and SIGUSR2 sent to the outer process, by a terminal or by anyone, reach the inner program
// exactly once, and none of the inner program's children: the inner side has a process group of its own. If
// the outer process dies by any means, everything inside dies.
//
// Throws Error naming what forbids it, and the remedies, where the namespaces cannot be made.
int run_in_sandbox(const std::vector<std::string>& arguments);

// Why namespaces are refused and what to do about it, from the settings under `proc` ("/proc"). `failure` is
// what the kernel answered.
std::string explain_refusal(std::string_view failure, const std::string& proc);

}  // namespace thinpipe::netem
