// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/tests/files.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_of(const torch::Tensor& bytes) {
  const torch::Tensor contiguous = bytes.contiguous();
  return {static_cast<const char*>(contiguous.data_ptr()), contiguous.nbytes()};
}

class Bytes : public DirectoryTest {
 protected:
  Json options(const Json& more = Json::object()) const {
    Json out = {{"name", "bytes"}, {"path", path()}, {"sequence_length", 4}, {"test_share", 0.5}};
    out.update(more);
    return out;
  }
};

TEST_F(Bytes, LabelsAreTheBytesThatFollow) {
  // 10 bytes each to train and test: two examples of 4, and one byte left over.
  write("text", "abcdefghijklmnopqrst");
  const auto dataset = make_dataset(options());
  EXPECT_EQ(dataset->shape().classes, 256);
  EXPECT_EQ(dataset->shape().sequence_length, 4);
  EXPECT_TRUE(dataset->shape().is_text());
  EXPECT_EQ(dataset->train().inputs.scalar_type(), torch::kUInt8);
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(text_of(dataset->train().inputs), "abcdefgh");
  EXPECT_EQ(text_of(dataset->train().labels), "bcdefghi");
  EXPECT_EQ(text_of(dataset->test().inputs), "klmnopqr");
  EXPECT_EQ(text_of(dataset->test().labels), "lmnopqrs");
  const torch::Tensor prepared = dataset->prepare(dataset->train().inputs);
  EXPECT_EQ(prepared.scalar_type(), torch::kInt64);
  EXPECT_EQ(prepared[1][3].item<std::int64_t>(), 'h');
  EXPECT_TRUE(dataset->augmentation().is_none());
}

// n bytes give floor((n - 1) / T) examples: the last example needs a byte after it.
TEST_F(Bytes, GiveAsManyExamplesAsHaveAFollowingByte) {
  for (const auto& [bytes, examples] :
       std::vector<std::pair<std::size_t, std::int64_t>>{{5, 1}, {8, 1}, {9, 2}}) {
    write("text", std::string(2 * bytes, 'x'));
    EXPECT_EQ(make_dataset(options())->train().size(), examples) << bytes;
    EXPECT_EQ(make_dataset(options())->test().size(), examples) << bytes;
  }
}

TEST_F(Bytes, OfAFolderComeInTheOrderOfPathsEachFileSplit) {
  write("b", "ccccdddd");
  write("a/z", "aaaabbbb");
  write("c/y/x", "eeeeffff");
  write("empty", "");
  const auto dataset = make_dataset(options());
  EXPECT_EQ(text_of(dataset->train().inputs), "aaaacccc");
  EXPECT_EQ(text_of(dataset->test().inputs), "bbbbdddd");
}

TEST_F(Bytes, HaveTheFileOfEachExampleAsItsSource) {
  // Training texts of 6, 0, 3 and 10 bytes: examples begin at 0, 4, 8, 12.
  write("a", std::string(12, 'a'));
  write("b", "");
  write("c", std::string(6, 'c'));
  write("d", std::string(20, 'd'));
  const auto dataset = make_dataset(options());
  EXPECT_TRUE(dataset->sources().equal(torch::tensor({0, 0, 2, 3}, torch::kInt64)));
  EXPECT_TRUE(
      make_dataset(options({{"train_examples", 2}}))->sources().equal(torch::tensor({0, 0}, torch::kInt64)));
}

TEST_F(Bytes, CountAFileOnceAndFollowLinksToFilesAlone) {
  write("folder/a", "aaaaaaaaaabbbbbbbbbb");
  write("elsewhere/c", "ccccccccccdddddddddd");
  const auto link = [&](const std::string& to, const std::string& name) {
    std::filesystem::create_symlink(to, path(name));
  };
  link("a", "folder/again");
  link("../elsewhere/c", "folder/linked");
  link("../elsewhere", "folder/linked-folder");
  link("nowhere", "folder/dangling");
  link(".", "folder/loop");
  const auto dataset = make_dataset(options({{"path", path("folder")}}));
  // Sorted by the real paths.
  EXPECT_EQ(text_of(dataset->train().inputs), "ccccccccccaaaaaa");
}

TEST_F(Bytes, OfASingleFile) {
  write("text", "0123456789");
  const auto dataset = make_dataset(options({{"path", path("text")}, {"test_share", 0.5}}));
  EXPECT_EQ(text_of(dataset->test().inputs), "5678");
}

TEST_F(Bytes, TheTestShareIsTheLastOfTheText) {
  write("text", std::string(90, 'a') + std::string(10, 'b'));
  const auto dataset = make_dataset(options({{"test_share", 0.1}}));
  EXPECT_EQ(dataset->train().size(), 22);
  EXPECT_EQ(text_of(dataset->test().inputs), "bbbbbbbb");
}

TEST_F(Bytes, MayBeLimited) {
  write("text", std::string(100, 'a'));
  const auto dataset = make_dataset(options({{"train_examples", 3}, {"test_examples", 12}}));
  EXPECT_EQ(dataset->train().size(), 3);
  EXPECT_EQ(dataset->train().labels.size(0), 3);
  EXPECT_EQ(dataset->test().size(), 12);
  EXPECT_THAT(refusal(options({{"test_examples", 13}})),
              HasSubstr("/dataset/test_examples: must be at most 12, the number of examples"));
}

TEST_F(Bytes, SayWhatIsWrong) {
  EXPECT_THAT(refusal(options({{"path", path("nowhere")}})),
              AllOf(HasSubstr("experiment.json at /dataset/path: must be a file or folder of UTF-8 text"),
                    HasSubstr("open " + path("nowhere") + ": No such file")));
  std::filesystem::create_directory(path("hollow"));
  EXPECT_THAT(refusal(options({{"path", path("hollow")}})), HasSubstr("hollow contains no files"));
  write("text", "");
  EXPECT_THAT(refusal(options()), HasSubstr("only 0 bytes to train with"));
  write("text", "12345678");
  EXPECT_THAT(refusal(options()),
              HasSubstr("only 4 bytes to train with, but one example takes 4 and the byte that follows"));
  write("text", std::string(40, 'a'));
  EXPECT_THAT(refusal(options({{"test_share", 0.1}})), HasSubstr("only 4 bytes to test with"));
  write("latin", "d\xe9j\xe0 vu");
  EXPECT_THAT(refusal(options()), HasSubstr(path("latin") + " is not UTF-8 text: byte 1, 0xe9, is invalid"));
  EXPECT_THAT(refusal(options({{"test_share", 0}})), HasSubstr("/dataset/test_share: must be above 0"));
}

TEST(DefaultBytes, AreOfAUsefulSize) {
  const auto dataset = make_dataset({{"name", "bytes"}});
  EXPECT_EQ(dataset->shape().sequence_length, 128);
  EXPECT_GT(dataset->train().size(), 1000);
  EXPECT_GT(dataset->test().size(), 100);
}

}  // namespace
}  // namespace thinpipe::trainer
