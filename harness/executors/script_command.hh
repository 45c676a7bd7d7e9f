// SPDX-License-Identifier: Apache-2.0
// The commands that start a training script on every worker's host.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/executors/executor.hh"
#include "harness/plan/run.hh"
#include "netem/kernel/host.hh"

namespace thinpipe {

// Where the script's processes of one attempt find each other.
struct Meeting {
  std::string address;  // of rank 0's host
  int port = 0;
};

// Returns the meeting at rank 0's host. On a loopback topology, whose ports are the machine's, it is a free port.
Meeting meeting_at(const netem::Host& host);

// Returns the command that starts a rank of a run whose trainer is a command. Its log and its pipe for reports go
// to the run's folder. `network_interface`: of the host. `run` and `host` must outlive it.
WorkerCommand script_worker(const Run& run, std::int64_t rank, const netem::Host& host,
                            const Meeting& meeting, const std::string& network_interface,
                            const std::filesystem::path& run_folder);

}  // namespace thinpipe
