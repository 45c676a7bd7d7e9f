// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/cifar_format.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

std::string record(char label) {
  return label + std::string(cifar_pixel_bytes, '\x07');
}

class CifarFile : public DirectoryTest {
 protected:
  std::string file_refusal(const std::string& bytes, const CifarFormat& format) const {
    try {
      read_cifar_records(write("file.bin", bytes), format);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path("file.bin")));
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(CifarFile, NoticesAWrongSize) {
  const CifarFormat format{.classes = 10, .label_bytes = 1, .records = 2};
  const std::string two = record('\x01') + record('\x02');
  EXPECT_THAT(file_refusal(two.substr(0, two.size() - 1), format),
              HasSubstr("has 6145 bytes, expected 6146: 2 records of 3073"));
  EXPECT_THAT(file_refusal(two + "x", format), HasSubstr("has 6147 bytes"));
  EXPECT_THAT(file_refusal("", format), HasSubstr("has 0 bytes"));
}

TEST_F(CifarFile, NoticesALabelOutOfRange) {
  EXPECT_THAT(file_refusal(record('\x01') + record('\x0a'), {.classes = 10, .records = 2}),
              HasSubstr("record 1 has label 10, expected 0 to 9"));
}

}  // namespace
}  // namespace thinpipe::trainer
