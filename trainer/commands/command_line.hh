// SPDX-License-Identifier: Apache-2.0
// The command line of thinpipe-trainer, which Python can run, too.
#pragma once

namespace thinpipe::trainer {

// Runs the command and returns the exit code: 0 success; 1 failure, which has been reported; 2 wrong input.
int run_command_line(int argc, const char* const* argv);

}  // namespace thinpipe::trainer
