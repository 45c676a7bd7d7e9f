// SPDX-License-Identifier: Apache-2.0
// The origin of a result: program, machine and time.
#pragma once

#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the version and the commit that the program was built from: "0.1.0 (f06749d8c8, with uncommitted changes)".
std::string program_version();

// Returns {"version", "git_commit", "dirty", "compiler", "build_type", "kernel", "cpu", "cores",
// "memory_bytes", "gpu"}, in a Slurm job also "slurm_job"; the commit is the one the program was built from.
Json describe_program_and_machine();

// Returns what tells machines apart whose times differ: "AMD EPYC 7763, 8 cores", with the GPU if there is one.
std::string name_of_machine();

// Returns the current time in UTC: "2025-03-01T12:34:56.789Z".
std::string utc_now();

}  // namespace thinpipe
