// SPDX-License-Identifier: Apache-2.0
// thinpipe-trainer: the worker program. `thinpipe run` starts it; users can start it to examine a single
// worker.
#include "trainer/commands/command_line.hh"

int main(int argc, char** argv) {
  return thinpipe::trainer::run_command_line(argc, argv);
}
