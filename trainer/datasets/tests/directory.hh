// Files for tests of data sets.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

namespace thinpipe::trainer {

// A fresh directory, removed with its contents.
class DirectoryTest : public ::testing::Test {
 protected:
  DirectoryTest() {
    std::string name = (std::filesystem::temp_directory_path() / "dataset_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
  }
  ~DirectoryTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  DirectoryTest(const DirectoryTest&) = delete;
  DirectoryTest& operator=(const DirectoryTest&) = delete;
  DirectoryTest(DirectoryTest&&) = delete;
  DirectoryTest& operator=(DirectoryTest&&) = delete;

  std::string path(const std::string& name = "") const { return (directory_ / name).string(); }

  // Returns the path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
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
  std::filesystem::path directory_;
};

}  // namespace thinpipe::trainer
