// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lease_file.hh"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fstream>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/records/lock_file.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LeaseFiles : public testing::Test {
 protected:
  fs::path path() const { return folder_.path() / ".lock"; }

  std::unique_ptr<LeaseFile> try_hold(const LeaseFile::Times& times = {}) const {
    return LeaseFile::try_hold(path(), "process 1 on a test", times);
  }

  // Leaves a lock as a process of another machine would.
  void leave_lock(std::chrono::seconds age) const {
    std::ofstream(path()) << "process 1 on elsewhere\nlease another-boot/pid:[1] 1 1\n";
    fs::last_write_time(path(), fs::file_time_type::clock::now() - age);
  }

  // Runs a process that holds the lock until it is killed.
  pid_t start_holder() const {
    const Pipe held = Pipe::create();
    const pid_t child = ::fork();
    if (child == 0) {
      const auto lock = try_hold();
      [[maybe_unused]] const auto told = ::write(held.write_end.get(), lock ? "y" : "n", 1);
      while (true) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(held.read_end.get(), &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    return child;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_.path())) out.push_back(entry.path().filename());
    return out;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(LeaseFiles, OneHoldsItAndItGoesWithItsHolder) {
  {
    const auto first = try_hold();
    ASSERT_TRUE(first);
    EXPECT_FALSE(try_hold());
    EXPECT_TRUE(LeaseFile::is_held(path()));
    EXPECT_THAT(names(), testing::ElementsAre(".lock"));
  }
  EXPECT_FALSE(LeaseFile::is_held(path()));
  EXPECT_THAT(names(), testing::IsEmpty());
  EXPECT_TRUE(try_hold());
}

TEST_F(LeaseFiles, AKilledHolderOfThisMachineHoldsItNoMore) {
  const pid_t holder = start_holder();
  EXPECT_FALSE(try_hold());
  ::kill(holder, SIGSTOP);
  EXPECT_FALSE(try_hold()) << "a stopped process may go on";
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_FALSE(LeaseFile::is_held(path()));
  EXPECT_TRUE(try_hold());
}

TEST_F(LeaseFiles, OfAnotherMachineAreHeldWhileTheyAreYoung) {
  leave_lock(std::chrono::seconds(5));
  EXPECT_FALSE(try_hold());
  EXPECT_TRUE(LeaseFile::is_held(path()));
  leave_lock(std::chrono::seconds(60));
  EXPECT_FALSE(LeaseFile::is_held(path()));
  const auto taken = try_hold();
  ASSERT_TRUE(taken);
  EXPECT_FALSE(try_hold());
  EXPECT_THAT(names(), testing::ElementsAre(".lock"));
}

// Clocks of machines that share a folder may differ.
constexpr LeaseFile::Times wrong_clock{.local_clock_ahead = std::chrono::hours(1)};

TEST_F(LeaseFiles, AgeByTheFileSystemsClock) {
  leave_lock(std::chrono::seconds(5));
  EXPECT_TRUE(LeaseFile::is_held(path(), wrong_clock));
  EXPECT_THAT(names(), testing::ElementsAre(".lock"));
  leave_lock(std::chrono::seconds(60));
  EXPECT_FALSE(LeaseFile::is_held(path(), wrong_clock));
}

// A name as long as a file system takes leaves no room for that of a further file, which a user without the right to create
// one lacks as well.
TEST_F(LeaseFiles, AgeByTheLocalClockIfNoFileCanBeCreated) {
  const fs::path longest = path().parent_path() / std::string(NAME_MAX, 'x');
  leave_lock(std::chrono::seconds(5));
  fs::rename(path(), longest);
  EXPECT_FALSE(LeaseFile::is_held(longest, wrong_clock));
  fs::last_write_time(longest, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(LeaseFile::is_held(longest, wrong_clock));
}

// Lets no file grow, as on a full disk.
class FullDisk {
 public:
  FullDisk() : previous_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit none{.rlim_cur = 0, .rlim_max = previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  FullDisk(FullDisk&&) = delete;
  FullDisk& operator=(FullDisk&&) = delete;

 private:
  rlimit previous_{};
  void (*previous_handler_)(int);
};

TEST_F(LeaseFiles, AFullDiskLeavesNoFile) {
  {
    const FullDisk full;
    EXPECT_THROW(try_hold(), SystemError);
  }
  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_F(LeaseFiles, AreKeptYoung) {
  const auto lock = try_hold({.beat = milliseconds(1), .stale_after = milliseconds(30'000)});
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path(), old);
  while (fs::last_write_time(path()) == old) std::this_thread::yield();
  EXPECT_FALSE(try_hold());
}

// A holder that was stopped for long and comes back does not end the lock of the next one.
TEST_F(LeaseFiles, AHolderThatLostItDoesNotRemoveIt) {
  auto first = try_hold();
  fs::last_write_time(path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto second = try_hold();
  ASSERT_TRUE(second);
  first.reset();
  EXPECT_TRUE(LeaseFile::is_held(path()));
}

TEST_F(LeaseFiles, AGuardThatWasLeftIsRemoved) {
  leave_lock(std::chrono::seconds(60));
  fs::rename(path(), path().string() + ".takeover");
  leave_lock(std::chrono::seconds(60));
  EXPECT_FALSE(try_hold());
  EXPECT_TRUE(try_hold());
}

// All want the stale lock, and whoever has it lets it go or leaves it stale.
TEST_F(LeaseFiles, OneAtATimeHasItHoweverManyTry) {
  leave_lock(std::chrono::seconds(60));
  std::atomic<int> inside = 0;
  std::atomic<int> turns = 0;
  std::vector<std::jthread> all;
  for (int thread = 0; thread < 4; ++thread) {
    all.emplace_back([&] {
      while (turns < 100) {
        auto lock = try_hold();
        if (!lock) continue;
        EXPECT_EQ(inside.fetch_add(1), 0);
        std::this_thread::yield();
        --inside;
        const int turn = ++turns;
        lock.reset();
        if (turn % 2 == 0 && !fs::exists(path())) {
          const fs::path left = path().string() + std::to_string(turn);
          std::ofstream(left) << "process 1 on elsewhere\n";
          fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
          std::error_code taken;
          fs::create_hard_link(left, path(), taken);
          fs::remove(left);
        }
      }
    });
  }
  all.clear();
  EXPECT_GE(turns, 100);
}

// A file system without flock(2).
class WithoutFlock : public LeaseFiles, public testing::WithParamInterface<int> {
 protected:
  WithoutFlock() {
    error_number_ = GetParam();
    use_flock([](int, int) {
      errno = error_number_;
      return -1;
    });
  }
  ~WithoutFlock() override { use_flock(nullptr); }

  static inline int error_number_ = 0;
};

TEST_P(WithoutFlock, LocksAreLeases) {
  EXPECT_TRUE(needs_leases(path().parent_path()));
  auto lock = LockFile::try_hold(path());
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->is_lease());
  EXPECT_FALSE(LockFile::try_hold(path()));
  EXPECT_TRUE(LockFile::is_held(path()));
  const std::string holder = LockFile::holder(path());
  EXPECT_THAT(holder, testing::StartsWith("process " + std::to_string(::getpid()) + " on "));
  EXPECT_EQ(holder.find('\n'), std::string::npos);
  EXPECT_THAT(names(), testing::ElementsAre(".lock"));
  lock.reset();
  EXPECT_FALSE(LockFile::is_held(path()));
  const pid_t other = start_holder();
  EXPECT_FALSE(LockFile::try_hold(path()));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_TRUE(LockFile::try_hold(path()));
}

INSTANTIATE_TEST_SUITE_P(Locks, WithoutFlock, testing::Values(ENOLCK, EOPNOTSUPP, ENOSYS));

TEST_F(LeaseFiles, AreNotUsedWhereFlockWorks) {
  const auto lock = LockFile::try_hold(path());
  ASSERT_TRUE(lock);
  EXPECT_FALSE(lock->is_lease());
}

TEST_F(LeaseFiles, MayBeChosen) {
  ::setenv(locks_variable, "files", 1);
  const auto lock = LockFile::try_hold(path());
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->is_lease());
  EXPECT_TRUE(LockFile::is_held(path()));
  ::unsetenv(locks_variable);
}

}  // namespace
}  // namespace thinpipe
