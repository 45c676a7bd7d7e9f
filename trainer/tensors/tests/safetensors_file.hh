// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of safetensors files: their bytes, in a folder of the test's.
#pragma once

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe::trainer::testing {

inline std::string with_header(const std::string& header, const std::string& elements) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 255U);
  return bytes + header + elements;
}

class SafetensorsFile : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() / "x.safetensors"; }

  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  // Returns the error of `read` for a file of these bytes, which must name the file; "accepted"
  // if there is none.
  std::string refusal_by(const auto& read, const std::string& bytes) const {
    try {
      read(write(bytes));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(path()));
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace thinpipe::trainer::testing
