// SPDX-License-Identifier: Apache-2.0
// Files for tests of data sets.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe::trainer {

// Each test has its own folder, removed afterwards.
class DirectoryTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "") const { return (folder_.path() / name).string(); }

  // Returns the file's path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string write_compressed(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path(name);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace thinpipe::trainer
