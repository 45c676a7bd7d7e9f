// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/safetensors.hh"

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
    return refusal_by([](const std::string& file) { read_safetensors(file); }, bytes);
  }
};

TEST_F(Safetensors, HasTheDocumentedBytes) {
  const std::string header =
      R"({"__metadata__":{"by":"hand"},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
      R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}  )";
  const TensorMap tensors =
      read_safetensors(write(with_header(header, std::string("\x00\x00\xc0\x3f\x07\xff", 6))));
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_TRUE(tensors.at("a").equal(torch::tensor({1.5F}).view({1, 1})));
  EXPECT_TRUE(tensors.at("b").equal(torch::tensor({7, 255}).to(torch::kUInt8)));
}

TEST_F(Safetensors, ReadsBackEveryType) {
  TensorMap tensors;
  for (const auto type : {torch::kDouble, torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kLong,
                          torch::kInt, torch::kShort, torch::kChar, torch::kByte, torch::kBool}) {
    tensors[c10::toString(type)] = torch::tensor({0.0, 1.0, 1.0, 0.0, 1.0, 0.0}).to(type).view({2, 3});
  }
  tensors["scalar"] = torch::tensor(3.25);
  tensors["empty"] = torch::empty({0, 4});
  tensors["transposed"] = torch::arange(6).view({2, 3}).t();
  tensors["parameter"] = torch::ones({2}, torch::requires_grad());
  tensors["\"quoted\" ü"] = torch::ones({1});
  write_safetensors(tensors, path());
  const TensorMap read = read_safetensors(path());
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(read.at(name).equal(tensor)) << name;
  }
}

TEST_F(Safetensors, WritesAlignedElements) {
  write_safetensors({{"a", torch::ones({3}, torch::kByte)}, {"b", torch::ones({1}, torch::kDouble)}}, path());
  std::ifstream in(path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
  EXPECT_THAT(bytes, AllOf(HasSubstr(R"("b":{"data_offsets":[0,8],"dtype":"F64","shape":[1]})"),
                           HasSubstr(R"("__metadata__":{"format":"pt"})")));
}

TEST_F(Safetensors, RefusesBooleansThatAreNone) {
  EXPECT_THAT(refusal(with_header(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02")),
              HasSubstr("tensor \"a\" has booleans that are neither 0 nor 1"));
}

TEST_F(Safetensors, RefusesToWriteWhatTheFormatLacks) {
  EXPECT_THROW(write_safetensors({{"a", torch::zeros({1}, torch::kComplexFloat)}}, path()), Error);
  EXPECT_THROW(write_safetensors({{"__metadata__", torch::zeros({1})}}, path()), Error);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace thinpipe::trainer
