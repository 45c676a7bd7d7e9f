// SPDX-License-Identifier: Apache-2.0
// A part of a test that needs the right to mount, which any user has in namespaces of their own.
#pragma once

#include <exception>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {

// Gives this process the right to mount, and mounts that no other process sees.
inline void enter_private_mounts() {
  const std::string user = fmt::format("0 {} 1", ::getuid());
  const std::string group = fmt::format("0 {} 1", ::getgid());
  system_call("make namespaces", ::unshare(CLONE_NEWUSER | CLONE_NEWNS));
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user;
  std::ofstream("/proc/self/gid_map") << group;
  system_call("make mounts private", ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

// Runs the part in a process of its own, with which its namespaces end. Its failures are those of the calling test.
inline void with_private_mounts(const auto& part) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      enter_private_mounts();
      part();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

}  // namespace thinpipe
