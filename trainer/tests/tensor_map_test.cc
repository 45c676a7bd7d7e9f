#include "trainer/tensor_map.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/support/exception.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TensorMap, ReadsBackWhatItWrote) {
  const trainer::testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/x.pt";
  save_tensors({{"a.weight", torch::tensor({1.5F, -2.0F})}, {"n", torch::tensor({7}, torch::kLong)}}, path);
  const TensorMap read = load_tensors(path);
  ASSERT_EQ(read.size(), 2);
  EXPECT_TRUE(torch::equal(read.at("a.weight"), torch::tensor({1.5F, -2.0F})));
  EXPECT_TRUE(torch::equal(read.at("n"), torch::tensor({7}, torch::kLong)));
}

TEST(TensorMap, LeavesNoTemporaryFile) {
  const trainer::testing::TemporaryDirectory folder;
  save_tensors({{"a", torch::zeros({1})}}, folder.path() + "/x.pt");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(TensorMap, NamesADamagedOrMissingFile) {
  const trainer::testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/x.pt";
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<SystemError>(HasSubstr(path)));
  std::ofstream(path) << "not a tensor in sight";
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<Error>(HasSubstr(path)));
  save_tensors({{"a", torch::zeros({1000})}}, path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT([&] { load_tensors(path); }, ThrowsMessage<Error>(HasSubstr(path)));
}

TEST(TensorMap, NamesATensorThatIsMissingOrHasAnotherShape) {
  const TensorMap tensors = {{"a", torch::zeros({2, 3})}};
  EXPECT_THAT([&] { expect_tensor(tensors, "b", torch::zeros({1}), "w.pt"); },
              ThrowsMessage<Error>("w.pt has no tensor \"b\""));
  EXPECT_THAT(
      [&] {
        expect_tensor(tensors, "a", torch::zeros({3, 2}), "w.pt");
      },
      ThrowsMessage<Error>("tensor \"a\" of w.pt is Float [2, 3], but Float [3, 2] is needed"));
}

}  // namespace
}  // namespace thinpipe::trainer
