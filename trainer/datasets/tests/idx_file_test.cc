#include "trainer/datasets/idx_file.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

// 2 x 3: 0 1 2 / 3 4 5.
const std::string matrix("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x00\x01\x02\x03\x04\x05", 18);

class IdxFile : public ::testing::Test {
 protected:
  IdxFile() {
    std::string name = (std::filesystem::temp_directory_path() / "idx_file_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
  }
  ~IdxFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;
  IdxFile(IdxFile&&) = delete;
  IdxFile& operator=(IdxFile&&) = delete;

  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  std::string compressed(const std::string& bytes) const {
    const gzFile file = gzopen(path().c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string refusal(const std::string& bytes) const {
    try {
      read_idx(write(bytes), 2);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path()));
      return error.what();
    }
    return "accepted";
  }

  std::string path() const { return directory_ / "file"; }

 private:
  std::filesystem::path directory_;
};

TEST_F(IdxFile, ReadsPlainAndCompressedFiles) {
  const torch::Tensor expected = torch::arange(6).to(torch::kUInt8).view({2, 3});
  EXPECT_TRUE(read_idx(write(matrix), 2).equal(expected));
  EXPECT_TRUE(read_idx(write(compressed(matrix)), 2).equal(expected));
}

TEST_F(IdxFile, ReadsAnEmptyArray) {
  EXPECT_EQ(read_idx(write(std::string("\0\0\x08\x01\0\0\0\0", 8)), 1).numel(), 0);
}

TEST_F(IdxFile, RefusesAnEmptyArrayWhoseOtherSizesOverflow) {
  const std::string none("\0\0\0\0", 4);
  const std::string most(8, '\xff');
  try {
    read_idx(write(std::string("\0\0\x08\x03", 4) + none + most), 3);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("claims 0 x 4294967295 x 4294967295 elements"));
  }
}

TEST_F(IdxFile, NamesAMissingFile) {
  try {
    read_idx(path(), 2);
    FAIL() << "read a missing file";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("open " + path() + ": No such file"));
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
  for (std::size_t i = 10; i < gzip.size();
       ++i) {  // after the gzip header, of which most bytes decide nothing
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
