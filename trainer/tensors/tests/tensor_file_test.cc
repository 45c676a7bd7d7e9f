// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/tensor_file.hh"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "common/support/exception.hh"
#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Formats : public ::testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return folder_.path() / ("x" + GetParam()); }

 private:
  TemporaryFolder folder_;
};

TEST_P(Formats, ReadBackWhatTheyWrote) {
  const TensorMap tensors = {{"a.weight", torch::tensor({1.5F, -2.0F})},
                             {"n", torch::tensor({7}, torch::kLong)},
                             {"flags", torch::tensor({true, false})},
                             {"half", torch::ones({2, 3}, torch::kHalf)},
                             {"brain", torch::ones({2, 3}, torch::kBFloat16)},
                             {"scalar", torch::tensor(2.5)},
                             {"empty", torch::empty({0, 2})},
                             {"column", torch::arange(6).view({2, 3}).select(1, 1)},
                             {"parameter", torch::ones({1}, torch::requires_grad())}};
  save_tensors(tensors, path());
  const TensorMap read = load_tensors(path());
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(read.at(name), tensor)) << name;
  }
}

TEST_P(Formats, AreToldByTheirContent) {
  TemporaryFolder folder;
  save_tensors({{"a", torch::ones({3})}}, path());
  const std::string renamed = folder.path() / "weights";
  std::filesystem::rename(path(), renamed);
  EXPECT_TRUE(torch::equal(load_tensors(renamed).at("a"), torch::ones({3})));
}

TEST_P(Formats, LoseThePrefixOfParallelModels) {
  save_tensors({{"module.a", torch::ones({1})}, {"module.b", torch::ones({2})}}, path());
  EXPECT_EQ(load_tensors(path()).at("b").numel(), 2);
  save_tensors({{"module.a", torch::ones({1})}, {"b", torch::ones({2})}}, path());
  EXPECT_EQ(load_tensors(path()).at("module.a").numel(), 1);
}

TEST_P(Formats, WithoutTensorsAreRefused) {
  save_tensors({}, path());
  EXPECT_THAT([&] { load_tensors(path()); },
              ThrowsMessage<Error>(HasSubstr(path() + " contains no tensors")));
}

TEST_P(Formats, NoticeEveryTruncation) {
  save_tensors({{"a", torch::zeros({4})}}, path());
  for (auto size = std::filesystem::file_size(path()); size > 0;) {
    size -= std::min<std::uintmax_t>(size, 19);
    std::filesystem::resize_file(path(), size);
    EXPECT_THROW(load_tensors(path()), Error) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(TensorMap, Formats, ::testing::Values(".pt", ".safetensors"),
                         [](const auto& test) { return test.param.substr(1); });

// LibTorch's own output: dicts have a type tag.
TEST(TensorFile, ReadsADictThatLibTorchPickled) {
  const TemporaryFolder folder;
  c10::Dict<std::string, torch::Tensor> dict;
  dict.insert("a", torch::tensor({1.5F, -2.0F}));
  const std::vector<char> bytes = torch::jit::pickle_save(torch::IValue(dict));
  std::ofstream(folder.path() / "x.pt", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(torch::equal(load_tensors(folder.path() / "x.pt").at("a"), torch::tensor({1.5F, -2.0F})));
}

TEST(TensorFile, SaysWhichEndingsItKnows) {
  const TemporaryFolder folder;
  for (const char* const name : {"x.pth", "x.bin"}) {
    save_tensors({{"a", torch::ones({2})}}, folder.path() / name);
    EXPECT_EQ(load_tensors(folder.path() / name).at("a").numel(), 2);
  }
  EXPECT_THAT(
      [&] {
        save_tensors({{"a", torch::zeros({1})}}, folder.path() / "x.ckpt");
      },
      ThrowsMessage<InputError>(HasSubstr("x.ckpt: the name must end in .safetensors, or in .pt")));
}

TEST(TensorFile, LeavesNoTemporaryFile) {
  const TemporaryFolder folder;
  save_tensors({{"a", torch::zeros({1})}}, folder.path() / "x.pt");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(TensorFile, NamesADamagedOrMissingFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "x.pt";
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<SystemError>(HasSubstr(path)));
  std::ofstream(path) << "not a tensor in sight";
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<Error>(HasSubstr(path)));
  save_tensors({{"a", torch::zeros({1000})}}, path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<Error>(HasSubstr(path)));
}

}  // namespace
}  // namespace thinpipe::trainer
