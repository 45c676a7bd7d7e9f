// Where a result comes from: the program, the machine, the moment.
#pragma once

#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// {"version", "git_commit", "dirty", "compiler", "build_type", "kernel", "cpu", "cores", "memory_bytes",
// "gpu"}: the commit is the one the program was built from.
Json describe_program_and_machine();

// The current time as UTC, "2025-03-01T12:34:56.789Z".
std::string utc_now();

}  // namespace thinpipe
