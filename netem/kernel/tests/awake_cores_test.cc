// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/awake_cores.hh"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe::netem {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;

// Returns the scheduling policy of each thread of a process; empty if it is gone, or an unreaped zombie.
std::vector<int> policies_of(pid_t pid) {
  std::vector<int> out;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    if (stat.find(") Z ") != std::string::npos || stat.empty()) continue;
    out.push_back(::sched_getscheduler(std::stoi(task.path().filename())));
  }
  return out;
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

std::size_t cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  EXPECT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  return static_cast<std::size_t>(CPU_COUNT(&usable));
}

TEST(AwakeCores, HasAThreadOfTheIdleClassForEachCpu) {
  const AwakeCores awake;
  EXPECT_TRUE(becomes_true([&] { return policies_of(awake.pid()).size() == cpus() + 1; }));
  EXPECT_THAT(policies_of(awake.pid()), Each(SCHED_IDLE));
}

TEST(AwakeCores, CountsTheTurnsOfItsThreads) {
  const AwakeCores awake;
  EXPECT_TRUE(becomes_true([&] { return awake.turns() > 0; }));
  const std::uint64_t before = awake.turns();
  EXPECT_TRUE(becomes_true([&] { return awake.turns() > before; }));
}

TEST(AwakeCores, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    const AwakeCores awake;
    pid = awake.pid();
  }
  EXPECT_TRUE(policies_of(pid).empty());
}

// An owner that is killed cannot end the child.
TEST(AwakeCores, EndsWithItsOwnersProcess) {
  Pipe told = Pipe::create();
  const pid_t owner = ::fork();
  if (owner == 0) {
    const AwakeCores awake;
    const pid_t pid = awake.pid();
    if (::write(told.write_end.get(), &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::raise(SIGKILL);
  }
  pid_t pid = 0;
  ASSERT_EQ(::read(told.read_end.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(becomes_true([&] { return policies_of(pid).empty(); }));
}

// A user who may have two processes: this test's, and the child without its threads.
TEST(AwakeCores, AChildWithoutItsThreadsIsAnError) {
  constexpr int cannot_become_user = 2;
  const pid_t owner = ::fork();
  if (owner == 0) {
    constexpr uid_t user = 54'321;
    const rlimit two{.rlim_cur = 2, .rlim_max = 2};
    if (::geteuid() != 0 || ::setrlimit(RLIMIT_NPROC, &two) != 0 || ::setuid(user) != 0)
      ::_exit(cannot_become_user);
    try {
      const AwakeCores awake;
    } catch (const Error& error) {
      const bool is_clear = std::string(error.what()).find("could not start a thread") != std::string::npos;
      ::_exit(is_clear && ::waitpid(-1, nullptr, WNOHANG) == -1 ? 0 : 3);
    } catch (...) {
      ::_exit(4);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot_become_user) GTEST_SKIP() << "needs root";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CpuQuota, IsInCpus) {
  EXPECT_EQ(cpus_in_quota("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpus_in_quota("150000 100000\n"), 1.5);
  EXPECT_EQ(cpus_in_quota("25000 50000"), 0.5);
  EXPECT_EQ(cpus_in_quota(""), std::nullopt);
  EXPECT_EQ(cpus_in_quota("100000 0"), std::nullopt);
}

TEST(CpuQuota, IsTheSmallestOfAGroupAndThoseAboveIt) {
  const TemporaryFolder folder;
  const std::filesystem::path groups = folder.path() / "cgroup";
  const auto write = [&](const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((folder.path() / file).parent_path());
    std::ofstream(folder.path() / file) << text;
  };
  const auto quota_of = [&](const std::string& group) {
    write("cgroup", "4:memory:/other\n0::" + group + "\n");
    return smallest_quota(groups, folder.path() / "mounted");
  };
  EXPECT_EQ(smallest_quota(groups, folder.path() / "mounted"), std::nullopt) << "no control groups";
  EXPECT_EQ(quota_of("/a/b"), std::nullopt) << "no hierarchy of version 2";
  write("mounted/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_of("/a/b"), std::nullopt);
  write("mounted/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota_of("/a/b"), 3);
  write("mounted/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota_of("/a/b"), 3);
  write("mounted/a/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota_of("/a/b"), 2);
  EXPECT_EQ(quota_of("/a"), 3);
  EXPECT_EQ(quota_of("/"), std::nullopt);
  write("mounted/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota_of("/"), 0.5) << "as in a container";
  EXPECT_EQ(quota_of("/a/b"), 0.5);
}

// A reader must not wait for the end of a pipe because the child still holds the other end.
TEST(AwakeCores, HoldsNoDescriptor) {
  Pipe pipe = Pipe::create();
  const AwakeCores awake;
  pipe.write_end.reset();
  char byte = 0;
  EXPECT_EQ(::read(pipe.read_end.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace thinpipe::netem
