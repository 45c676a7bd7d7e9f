// SPDX-License-Identifier: Apache-2.0
// MPI programs over the emulated network, started as on a cluster: mpirun on the first host starts one process on
// every host, with exchange_remote_shell in place of ssh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netem/network.hh"

namespace thinpipe {

// Names, to exchange_remote_shell, a process in each host whose namespaces it may enter: "w0=12 w1=13".
inline constexpr const char* host_processes_variable = "THINPIPE_HOST_PROCESSES";

bool is_mpi(const std::string& way);

// Returns which Debian packages the library of an MPI way lacks; nullopt if this build has it.
std::optional<std::string> obstacle_to_mpi(const std::string& way);

// Runs the way's worker program on every host, and returns the output of the worker of rank 0. MPI's messages
// take TCP only. Throws Error with mpirun's messages if a worker fails.
std::string run_mpi_job(const netem::Network& network, const std::string& way,
                        const std::vector<std::string>& arguments);

}  // namespace thinpipe
