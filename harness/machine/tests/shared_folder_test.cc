// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/shared_folder.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

constexpr const char* mountinfo =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "40 22 0:34 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2,local_lock=none\n"
    "41 40 0:35 / /home/old\\040data rw,nosuid - nfs server:/old rw,vers=3,nolock,local_lock=all\n"
    "42 22 0:36 / /scratch rw - lustre mgs:/fs rw,flock,lazystatfs\n"
    "43 22 0:37 / /fast rw - lustre mgs:/fs rw,localflock\n"
    "44 22 0:38 / /fast rw - tmpfs tmpfs rw\n";

// Returns whether the folder needs another kind of lock.
bool never(const std::filesystem::path& /*folder*/) {
  return false;
}

std::string reason_at(const char* path) {
  return why_locks_are_local(mount_of(path, mountinfo).value());
}

TEST(SharedFolder, HasTheMountThatIsNearest) {
  EXPECT_EQ(mount_of("/tmp/results", mountinfo)->kind, "ext4");
  EXPECT_EQ(mount_of("/home/me/results", mountinfo)->kind, "nfs4");
  EXPECT_EQ(mount_of("/homes", mountinfo)->kind, "ext4");
  EXPECT_EQ(mount_of("/home/old data/results", mountinfo)->kind, "nfs");
  EXPECT_EQ(mount_of("/fast/results", mountinfo)->kind, "tmpfs") << "the later mount hides the earlier";
  EXPECT_EQ(mount_of("/x", ""), std::nullopt);
  EXPECT_EQ(mount_of("/x", "22 1 254:1 /"), std::nullopt);
}

TEST(SharedFolder, TellsWhereLocksHoldOnOneMachineOnly) {
  EXPECT_EQ(reason_at("/tmp"), "");
  EXPECT_EQ(reason_at("/home/me"), "");
  EXPECT_EQ(reason_at("/scratch"), "");
  EXPECT_THAT(reason_at("/home/old data"), HasSubstr("nfs is mounted with nolock"));
  EXPECT_EQ(why_locks_are_local({.kind = "lustre", .options = "rw,localflock"}),
            "lustre is mounted without flock");
}

TEST(SharedFolder, IsExaminedAndLeftAsItWas) {
  const TemporaryFolder folder;
  const Finding finding = examine_shared_folder(folder.path() / "results" / "not-yet", never);
  EXPECT_TRUE(finding.ok) << finding.found;
  EXPECT_THAT(finding.found, HasSubstr("cannot be locked twice"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SharedFolder, MayHaveLocksOfAnotherKind) {
  const TemporaryFolder folder;
  std::filesystem::path asked;
  const Finding finding =
      examine_shared_folder(folder.path() / "not-yet", [&](const std::filesystem::path& place) {
        asked = place;
        return true;
      });
  EXPECT_TRUE(finding.ok) << finding.found;
  EXPECT_EQ(asked, folder.path());
  EXPECT_THAT(finding.found, HasSubstr("there is no flock"));
}

TEST(SharedFolder, ThatCannotBeWrittenIsReported) {
  const Finding finding = examine_shared_folder("/proc", never);
  EXPECT_FALSE(finding.ok);
  EXPECT_THAT(finding.remedy, HasSubstr("flock"));
}

}  // namespace
}  // namespace thinpipe
