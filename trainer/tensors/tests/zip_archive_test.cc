// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/zip_archive.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/tests/temporary_folder.hh"
#include "trainer/tensors/tests/zip_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::zip;
using testing::ZipContent;

class ZipArchive : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() / "x.npz"; }

  // Returns the names and contents of all members.
  std::vector<std::string> read(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    const InputFile file(path());
    std::vector<std::string> out;
    for (const ZipMember& member : read_zip_directory(file)) {
      std::string content(member.bytes, '\0');
      read_zip_member(file, member, content);
      out.push_back(member.name + "=" + content);
    }
    return out;
  }

  std::string refusal(const std::string& bytes) const {
    try {
      read(bytes);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path()));
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string lines(100000, 'x');

TEST_F(ZipArchive, HasStoredAndDeflatedMembers) {
  EXPECT_THAT(read(zip({{"a", "12345"}, {"b", lines, true}, {"", ""}, {"e", "", true}})),
              ElementsAre("a=12345", "b=" + lines, "=", "e="));
  EXPECT_THAT(read(zip({})), ElementsAre());
}

TEST_F(ZipArchive, MayHaveAComment) {
  const std::string comment = "PK\x05\x06 and more";
  std::string bytes = zip({{"a", "12345"}});
  bytes.replace(bytes.size() - 2, 2, testing::little_endian(comment.size(), 2));
  EXPECT_THAT(read(bytes + comment), ElementsAre("a=12345"));
}

TEST_F(ZipArchive, NoticesEveryTruncationAndChangeOfTheContent) {
  const std::string bytes = zip({{"a", "12345"}, {"b", lines, true}});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(refusal(replaced(bytes, "12345", "12354")),
              HasSubstr("member a is damaged: it does not have its"));
  const std::string stored = testing::deflated(lines);
  EXPECT_THAT(refusal(replaced(bytes, stored, std::string(stored.size(), '\xff'))),
              HasSubstr("member b is damaged: it does not decompress to its size"));
}

TEST_F(ZipArchive, NoticesSizesThatDoNotFit) {
  const auto with_size = [](std::uint64_t size) {
    const std::string two = testing::little_endian(testing::deflated(lines).size(), 4);
    return replaced(zip({{"b", lines, true}}), two + testing::little_endian(lines.size(), 4),
                    two + testing::little_endian(size, 4));
  };
  EXPECT_THAT(refusal(with_size(lines.size() - 1)), HasSubstr("does not decompress to its size"));
  EXPECT_THAT(refusal(with_size(lines.size() + 1)), HasSubstr("does not decompress to its size"));
  EXPECT_THAT(refusal(with_size(0xfffffffe)), HasSubstr("two sizes do not fit each other"));
}

TEST_F(ZipArchive, RefusesWhatItDoesNotRead) {
  EXPECT_THAT(refusal(zip({{"a", "1"}, {"a", "2"}})), HasSubstr("has two members named a"));
  EXPECT_THAT(refusal("not an archive, but long enough for one"), HasSubstr("has no directory at its end"));
  const std::string entry =
      std::string("PK\x01\x02") + testing::little_endian(20, 2) + testing::little_endian(20, 2);
  const std::string one = zip({{"a", "1"}});
  EXPECT_THAT(
      refusal(replaced(one, entry + testing::little_endian(0, 2), entry + testing::little_endian(1, 2))),
      HasSubstr("has an encrypted member a"));
  EXPECT_THAT(refusal(replaced(one, entry + testing::little_endian(0, 4),
                               entry + testing::little_endian(14U << 16U, 4))),
              HasSubstr("compressed with method 14"));
}

}  // namespace
}  // namespace thinpipe::trainer
