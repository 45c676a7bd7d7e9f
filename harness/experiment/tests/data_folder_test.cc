// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/data_folder.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/tests/paths.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST(DataFolder, OfABuildIsTheSourceTree) {
  EXPECT_EQ(data_folder(), fs::canonical(source_path("")));
}

TEST(DataFolder, OfAnInstallationIsBesideTheProgramsFolder) {
  const TemporaryFolder prefix;
  fs::create_directories(prefix.path() / "bin");
  fs::create_directories(prefix.path() / "share" / "thinpipe");
  EXPECT_EQ(data_folder_of(prefix.path() / "bin"), prefix.path() / "share" / "thinpipe");
}

TEST(DataFolder, TheErrorNamesBothPlaces) {
  const TemporaryFolder prefix;
  const fs::path programs = prefix.path() / "bin";
  fs::create_directories(programs);
  try {
    data_folder_of(programs);
    FAIL() << "found a folder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr((programs / "data").string()),
                                    HasSubstr((prefix.path() / "share" / "thinpipe").string()),
                                    HasSubstr("cmake --install")));
  }
}

}  // namespace
}  // namespace thinpipe
