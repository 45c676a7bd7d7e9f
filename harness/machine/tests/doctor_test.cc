// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/doctor.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(FindingsTest, OnlyWhatIsNeededKeepsARunFromStarting) {
  EXPECT_TRUE(ready({{.name = "a", .ok = true, .needed = true}, {.name = "b", .ok = false}}));
  EXPECT_FALSE(ready({{.name = "a", .ok = true}, {.name = "b", .ok = false, .needed = true}}));
}

TEST(FindingsTest, ReadBackFromJsonAsTheyWere) {
  const std::vector<Finding> findings = {
      {.name = "a", .ok = true, .needed = true, .found = "works", .remedy = "not for one that works"},
      {.name = "b", .found = "missing", .remedy = "install it"}};
  const Json json = to_json(findings);
  EXPECT_EQ(json.at("ready"), true);
  EXPECT_TRUE(json.at("findings").at(0).at("remedy").is_null());
  EXPECT_EQ(to_json(findings_from_json(json)), json);
}

TEST(FindingsTest, ATableTellsWhatIsNeededFromWhatIsNot) {
  const std::string table = format_findings({{.name = "a", .ok = true, .found = "x", .remedy = "never shown"},
                                             {.name = "b", .needed = true, .found = "y", .remedy = "do this"},
                                             {.name = "c", .found = "z", .remedy = "do that"}});
  EXPECT_THAT(table, AllOf(HasSubstr("works  a: x\n"), HasSubstr("FAILS  b: y\n       remedy: do this\n"),
                           HasSubstr("lacks  c: z\n       remedy: do that\n"), Not(HasSubstr("never shown")),
                           HasSubstr("A live run needs each item that FAILS above.")));
}

// A fake /proc with a version 2 hierarchy of control groups in a folder.
class CgroupsTest : public testing::Test {
 protected:
  CgroupsTest() { fs::create_directories(folder_.path() / "self"); }

  Finding examine(const std::string& mountinfo, const std::string& cgroup) const {
    std::ofstream(folder_.path() / "self/mountinfo") << mountinfo;
    std::ofstream(folder_.path() / "self/cgroup") << cgroup;
    return examine_cgroups(folder_.path());
  }

  std::string hierarchy() const {
    return "24 1 0:5 / /proc rw - proc proc rw\n30 24 0:26 / " + folder_.path().string() +
           "/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
  }

  TemporaryFolder folder_;
};

TEST_F(CgroupsTest, WithoutTheHierarchyThereAreNone) {
  const Finding finding = examine("24 1 0:5 / /proc rw - proc proc rw\n", "4:memory:/x\n0::/x\n");
  EXPECT_FALSE(finding.ok);
  EXPECT_FALSE(finding.needed);
  EXPECT_THAT(finding.found, HasSubstr("no version 2 hierarchy"));
  EXPECT_THAT(finding.remedy, HasSubstr("Delegate=yes"));
}

TEST_F(CgroupsTest, AFolderThatTakesAGroupIsDelegated) {
  fs::create_directories(folder_.path() / "cgroup/user/own");
  const Finding finding = examine(hierarchy(), "4:memory:/x\n0::/user/own\n");
  EXPECT_TRUE(finding.ok) << finding.found;
  EXPECT_THAT(finding.found, HasSubstr("/cgroup/user/own; controllers in them: none"));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cgroup/user/own")) << "its group is removed";
}

TEST_F(CgroupsTest, AFolderThatTakesNoneIsNot) {
  const Finding finding = examine(hierarchy(), "0::/not/there\n");
  EXPECT_FALSE(finding.ok);
  EXPECT_THAT(finding.found, AllOf(HasSubstr("cannot create a group below"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace thinpipe
