// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/idx_format.hh"

#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

// 2 x 3: 0 1 2 / 3 4 5.
const std::string matrix("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x00\x01\x02\x03\x04\x05", 18);

class IdxFile : public DirectoryTest {
 protected:
  std::string compressed(const std::string& bytes) const {
    std::ifstream in(write_compressed("compressed", bytes), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static void read(const std::string& path, std::int64_t dimensions) {
    std::vector<std::uint8_t> elements;
    read_idx_bytes(path, dimensions, [&elements](const std::vector<std::int64_t>& shape) {
      elements.resize(static_cast<std::size_t>(
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies())));
      return std::span(elements);
    });
  }

  std::string refusal(const std::string& bytes) const {
    try {
      read(write("file", bytes), 2);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path("file")));
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(IdxFile, RefusesAnEmptyArrayWhoseOtherSizesOverflow) {
  std::string bytes("\0\0\x08\x03\0\0\0\0", 8);
  bytes.append(8, '\xff');
  try {
    read(write("file", bytes), 3);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("claims 0 x 4294967295 x 4294967295 elements"));
  }
}

TEST_F(IdxFile, NamesAMissingFile) {
  try {
    read(path("file"), 2);
    FAIL() << "read a missing file";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("open " + path("file") + ": No such file"));
  }
}

TEST_F(IdxFile, SaysWhichMagicItExpected) {
  EXPECT_THAT(refusal("Hello, world, this is text"),
              HasSubstr("begins with 48 65 6c 6c, expected 00 00 08 02"));
  std::string other = matrix;
  other[3] = 1;
  EXPECT_THAT(refusal(other), HasSubstr("begins with 00 00 08 01, expected 00 00 08 02"));
  EXPECT_THAT(refusal(""), HasSubstr("not an IDX file"));
}

TEST_F(IdxFile, NoticesEveryTruncation) {
  for (std::size_t length = 0; length < matrix.size(); ++length) {
    EXPECT_NE(refusal(matrix.substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(refusal(matrix.substr(0, 10)), HasSubstr("truncated inside its header"));
  EXPECT_THAT(refusal(matrix.substr(0, 17)), HasSubstr("truncated: holds 5 of the 6 elements"));
  const std::string gzip = compressed(matrix);
  for (std::size_t length = 0; length < gzip.size(); ++length) {
    EXPECT_NE(refusal(gzip.substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(refusal(gzip.substr(0, gzip.size() - 9)), HasSubstr("truncated"));
}

TEST_F(IdxFile, NoticesEveryDamagedByteOfTheCompressedDataAndItsChecksum) {
  const std::string gzip = compressed(matrix);
  // Starts after the gzip header, most of whose bytes have no effect.
  for (std::size_t i = 10; i < gzip.size(); ++i) {
    std::string damaged = gzip;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_NE(refusal(damaged), "accepted") << "byte " << i;
  }
}

TEST_F(IdxFile, NoticesSurplusBytes) {
  EXPECT_THAT(refusal(matrix + "x"), HasSubstr("longer than the 6 elements"));
  EXPECT_THAT(refusal(compressed(matrix + "x")), HasSubstr("longer than the 6 elements"));
}

TEST_F(IdxFile, AllocatesNothingForAHeaderThatTheFileCannotHonour) {
  std::string huge = matrix;
  huge.replace(4, 8, 8, '\xff');
  EXPECT_THAT(refusal(huge),
              HasSubstr("claims 4294967295 x 4294967295 elements, which a file of its size cannot hold"));
}

}  // namespace
}  // namespace thinpipe::trainer
