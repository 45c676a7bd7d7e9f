// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lock_file.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class LockFiles : public testing::Test {
 protected:
  fs::path path() const { return folder_.path() / ".lock"; }

 private:
  TemporaryFolder folder_;
};

TEST_F(LockFiles, OneHoldsItAndItGoesWithItsHolder) {
  {
    const auto first = LockFile::try_hold(path());
    ASSERT_TRUE(first);
    EXPECT_FALSE(LockFile::try_hold(path()));
    EXPECT_THAT(LockFile::holder(path()), StartsWith("process " + std::to_string(::getpid()) + " on "));
    EXPECT_THAT(LockFile::holder(path()), HasSubstr(", since 20"));
  }
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_TRUE(LockFile::try_hold(path()));
}

TEST_F(LockFiles, AFileThatNobodyHoldsMeansNothing) {
  std::ofstream(path()) << "process 1 on another machine, since 2099, and a longer text than any of ours is";
  const auto lock = LockFile::try_hold(path());
  EXPECT_TRUE(lock);
  EXPECT_THAT(LockFile::holder(path()), testing::Not(HasSubstr("2099")));
}

TEST_F(LockFiles, AChildThatLivesOnDoesNotHoldIt) {
  auto lock = LockFile::try_hold(path());
  const ChildProcess child({.arguments = {"sleep", "60"}});
  lock.reset();
  EXPECT_TRUE(LockFile::try_hold(path()));
}

TEST_F(LockFiles, AWaitEndsWhenItIsLetGoOrGivenUp) {
  auto lock = LockFile::try_hold(path());
  int asked = 0;
  EXPECT_FALSE(LockFile::wait_for(path(), [&asked] { return ++asked == 2; }));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(LockFile::wait_for(path(), [&lock] {
    lock.reset();
    return false;
  }));
}

int calls_of_flock = 0;

TEST_F(LockFiles, AFileSystemIsTriedOnce) {
  calls_of_flock = 0;
  use_flock([](int file, int operation) {
    ++calls_of_flock;
    return ::flock(file, operation);
  });
  for (const char* run : {"one", "two", "three"}) {
    fs::create_directory(path().parent_path() / run);
    EXPECT_TRUE(LockFile::try_hold(path().parent_path() / run / ".lock"));
  }
  use_flock(nullptr);
  EXPECT_EQ(calls_of_flock, 1 + 3);
}

TEST_F(LockFiles, SomebodyWhoLooksIsNoHolder) {  // such as `thinpipe status`, which locks for a moment
  ASSERT_TRUE(LockFile::try_hold(path()));       // the file system has flock
  calls_of_flock = 0;
  use_flock([](int file, int operation) {
    if (++calls_of_flock != 2) return ::flock(file, operation);  // the first is the file system's
    errno = EWOULDBLOCK;
    return -1;
  });
  EXPECT_TRUE(LockFile::try_hold(path()));
  use_flock(nullptr);
  EXPECT_EQ(calls_of_flock, 3);
}

TEST_F(LockFiles, AFolderThatIsMissingIsNamed) {
  try {
    LockFile::try_hold("/no/such/folder/.lock");
    FAIL() << "held";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder/.lock"));
  }
}

}  // namespace
}  // namespace thinpipe
