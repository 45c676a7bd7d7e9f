// SPDX-License-Identifier: Apache-2.0
// One command that runs in every host of a network, with one rank per host.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/support/child_process.hh"
#include "harness/terminal/command_signals.hh"
#include "netem/network.hh"

namespace thinpipe {

struct RanksOptions {
  std::vector<std::string> arguments = {};
  // Returns the environment that a rank needs in addition to this process's own.
  std::function<std::vector<std::pair<std::string, std::string>>(std::size_t rank)> environment = {};
  bool lowest_priority = false;
  std::chrono::duration<double> grace = {};  // between the signal that asks ranks to end and SIGKILL
  std::chrono::milliseconds tick_period{100};
  std::function<void(double late_s)> tick = {};  // called in every tick_period, `late_s` after it was due
};

struct RanksOutcome {
  int exit_code = 0;
  std::vector<std::optional<ExitStatus>> ends = {};  // by rank; nullopt if it has not been started
  std::optional<std::size_t> first_failed = {};      // the first rank that failed by itself
};

// Starts the command in every host, in the order of ranks, and waits until all ranks have ended. Their
// standard input is empty. Their output is printed as it arrives, each line after the host's name. Each rank
// is a process group without a terminal.
//
// When a rank fails, the others receive SIGTERM, and SIGKILL after the grace. Signals to this process are
// passed on. After one that asks to end, ranks that still run after the grace are killed; a second one kills
// them immediately.
//
// The exit code is that of the first rank that failed by itself, otherwise 0; 128 + n for a rank that signal
// n ended; 128 + n also after signal n to this process; cannot_start if the command cannot be executed.
RanksOutcome run_ranks(const netem::Network& network, const RanksOptions& options,
                       const CommandSignals& signals);

}  // namespace thinpipe
