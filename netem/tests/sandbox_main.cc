// SPDX-License-Identifier: Apache-2.0
// The main of test programs and benchmarks that run inside the sandbox.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "netem/kernel/sandbox.hh"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  // Listing tests is part of the build, which must not need the sandbox.
  const bool listing = std::ranges::count(arguments, "--gtest_list_tests") > 0;
  try {
    if (!listing && !thinpipe::netem::inside_sandbox()) return thinpipe::netem::run_in_sandbox(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
