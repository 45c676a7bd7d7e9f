// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/safetensors_header.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/tensors/tests/safetensors_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::with_header;

class Safetensors : public testing::SafetensorsFile {
 protected:
  std::string refusal(const std::string& bytes) const {
    return refusal_by([](const std::string& file) { read_safetensors_header(InputFile(file)); }, bytes);
  }

  // bytes: number of bytes after the header, which contains one tensor "a" described by `entry`.
  std::string refusal(const std::string& entry, std::size_t bytes) const {
    return refusal(with_header(R"({"a":)" + entry + "}", std::string(bytes, '\0')));
  }
};

TEST_F(Safetensors, RefusesAnEmptyTensorWhoseOtherSizesOverflow) {
  EXPECT_THAT(refusal(R"({"dtype":"U8","shape":[0,4611686018427387904,4],"data_offsets":[0,0]})", 0),
              HasSubstr("is too large"));
}

TEST_F(Safetensors, NoticesEveryTruncation) {
  const std::string bytes =
      with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  EXPECT_EQ(refusal(bytes), "accepted");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(refusal(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("tensor \"a\" ends at byte 8, but there are only 7: the file is truncated"));
  EXPECT_THAT(refusal(bytes + "x"), HasSubstr("1 bytes follow the last tensor"));
}

TEST_F(Safetensors, RefusesAHeaderThatCannotBe) {
  EXPECT_THAT(refusal(std::string(8, '\xff') + "{}"),
              HasSubstr("its header would take 18446744073709551615 bytes"));
  EXPECT_THAT(refusal(with_header("[]", "")), HasSubstr("no JSON header"));
  EXPECT_THAT(refusal(with_header("{\"a\"", "")), HasSubstr("its header is damaged"));
  EXPECT_THAT(refusal(with_header(R"({"__metadata__":{"a":1}})", "")),
              HasSubstr("its __metadata__ is not an object of strings"));
  const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(refusal(with_header("{" + entry + "," + entry + "}", "x")),
              HasSubstr("the key \"a\" is given twice"));
}

struct EntryCase {
  std::string entry;
  std::size_t bytes;
  std::string refusal;
  std::string tensor = "tensor \"a\"";
};

class SafetensorsEntry : public Safetensors, public ::testing::WithParamInterface<EntryCase> {};

TEST_P(SafetensorsEntry, IsRefusedByName) {
  EXPECT_THAT(refusal(GetParam().entry, GetParam().bytes),
              AllOf(HasSubstr(GetParam().tensor), HasSubstr(GetParam().refusal)));
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, SafetensorsEntry,
    ::testing::Values(
        EntryCase{"7", 0, "is not described by an object"},
        EntryCase{R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})", 4, "has an unknown member x"},
        EntryCase{R"({"shape":[1],"data_offsets":[0,4]})", 4, "has no dtype"},
        EntryCase{R"({"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]})", 4,
                  "has dtype \"F8_E4M3\", which"},
        EntryCase{R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4,
                  "shape that is not a list of nonnegative"},
        EntryCase{R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", 4,
                  "shape that is not a list of nonnegative"},
        EntryCase{R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4, "not [begin, end]"},
        EntryCase{R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4, "not [begin, end]"},
        EntryCase{R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4,
                  "takes 8 bytes by its shape, but 4 by its data_offsets"},
        EntryCase{R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})", 4,
                  "is too large"},
        EntryCase{R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})", 4,
                  "is too large"},
        EntryCase{R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8, "the bytes from 0 to 4, before"},
        EntryCase{
            R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]})",
            5, "begins at byte 3, inside the previous one, which ends at byte 4", "tensor \"b\""},
        EntryCase{
            R"({"dtype":"BOOL","shape":[1],"data_offsets":[1,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})",
            1, "ends at byte 2, but there are only 1"}));

}  // namespace
}  // namespace thinpipe::trainer
