#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "harness/support/exception.hh"

namespace thinpipe::trainer::testing {

// A fresh directory, removed with its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "thinpipe-rendezvous-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw SystemError("make directory " + path_, errno);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace thinpipe::trainer::testing
