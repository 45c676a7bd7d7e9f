// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/datasets/tests/cache_variable.hh"
#include "trainer/datasets/tests/files.hh"
#include "trainer/datasets/text/token_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Token>
std::string as_bytes(const std::vector<Token>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)};
}

class Tokens : public DirectoryTest {
 protected:
  void write_tokens(const std::vector<std::uint16_t>& train, const std::vector<std::uint16_t>& test) const {
    write("train.bin", as_bytes(train));
    write("val.bin", as_bytes(test));
  }

  Json options(const Json& more = Json::object()) const {
    Json out = {{"name", "tokens"}, {"directory", path()}, {"sequence_length", 2}};
    out.update(more);
    return out;
  }

 private:
  CacheVariable cache_{path("cache")};
};

TEST_F(Tokens, LabelsAreTheTokensThatFollow) {
  write_tokens({1, 2, 3, 4, 50256, 65535}, {7, 8, 9});
  const auto dataset = make_dataset(options());
  EXPECT_EQ(dataset->shape().classes, 65536);
  EXPECT_EQ(dataset->shape().sequence_length, 2);
  EXPECT_EQ(dataset->shape().bytes_per_token, std::nullopt);
  EXPECT_EQ(dataset->train().size(), 2);
  EXPECT_TRUE(
      dataset->prepare(dataset->train().inputs).equal(torch::tensor({{1, 2}, {3, 4}}, torch::kInt64)));
  const Batch batch = prepare_batch(*dataset, dataset->train(), 1, 1);
  EXPECT_TRUE(batch.inputs.equal(torch::tensor({{3, 4}}, torch::kInt64)));
  EXPECT_TRUE(batch.labels.equal(torch::tensor({{4, 50256}}, torch::kInt64))) << "above 32767, too";
  EXPECT_TRUE(dataset->prepare_labels(dataset->test().labels).equal(torch::tensor({{8, 9}}, torch::kInt64)));
  // A training batch, as the loader makes it.
  BatchLoader loader(*dataset, {.examples = 2, .batch_size_per_worker = 2, .seed = 1});
  EXPECT_EQ(loader.load(0).labels.max().item<std::int64_t>(), 50256);
}

TEST_F(Tokens, OfThirtyTwoBits) {
  write("train.bin", as_bytes(std::vector<std::uint32_t>{1, 70000, 2}));
  write("val.bin", as_bytes(std::vector<std::uint32_t>{3, 4, 5, 6, 7}));
  const auto dataset = make_dataset(options({{"type", "uint32"}}));
  EXPECT_EQ(dataset->shape().classes, 70001);
  EXPECT_TRUE(dataset->prepare(dataset->train().inputs).equal(torch::tensor({{1, 70000}}, torch::kInt64)));
  EXPECT_EQ(dataset->test().size(), 2);
  write("meta.json", R"({"type": "uint32"})");
  EXPECT_EQ(make_dataset(options())->shape().classes, 70001);
}

TEST_F(Tokens, TheVocabularyIsTheOptionsOrThatOfMetaJsonOrTheLargestToken) {
  write_tokens({1, 2, 3}, {1, 9, 3});
  EXPECT_EQ(make_dataset(options())->shape().classes, 10);
  write("meta.json", R"({"vocabulary": 65, "bytes_per_token": 3.5, "kind": "anything"})");
  EXPECT_EQ(make_dataset(options())->shape().classes, 65);
  EXPECT_EQ(make_dataset(options())->shape().bytes_per_token, 3.5);
  EXPECT_EQ(make_dataset(options({{"vocabulary", 100}}))->shape().classes, 100);
  EXPECT_NE(content_hash(*make_dataset(options({{"vocabulary", 100}}))),
            content_hash(*make_dataset(options())));
}

TEST_F(Tokens, AreNamedByTheirContent) {
  write_tokens({1, 2, 3}, {4, 5, 6});
  const std::string hash = content_hash(*make_dataset(options()));
  write_tokens({1, 2, 3}, {4, 6, 5});
  EXPECT_NE(content_hash(*make_dataset(options())), hash);
  write_tokens({1, 2, 3}, {4, 5, 6});
  EXPECT_EQ(content_hash(*make_dataset(options())), hash);
}

TEST_F(Tokens, MayBeLimited) {
  write_tokens(std::vector<std::uint16_t>(100, 1), std::vector<std::uint16_t>(10, 1));
  EXPECT_EQ(make_dataset(options({{"train_examples", 3}}))->train().size(), 3);
  EXPECT_THAT(refusal(options({{"test_examples", 5}})),
              HasSubstr("/dataset/test_examples: must be at most 4, the number of examples"));
}

TEST_F(Tokens, SayWhatIsWrong) {
  EXPECT_THAT(
      refusal({{"name", "tokens"}}),
      AllOf(HasSubstr("experiment.json at /dataset/directory: must name a folder with train.bin and val.bin"),
            HasSubstr("thinpipe tokenize")));
  EXPECT_THAT(refusal(options()), HasSubstr("open " + path("train.bin") + ": No such file"));
  write_tokens({1, 2, 300, 400}, {1, 2, 3});
  EXPECT_THAT(refusal(options({{"vocabulary", 256}})),
              AllOf(HasSubstr("/dataset/directory"),
                    HasSubstr(path("train.bin") + ": token 300 at byte 4 is not below 256")));
  write_tokens({1, 2, 3}, {1, 2});
  EXPECT_THAT(refusal(options()),
              HasSubstr(path("val.bin") + " has only 2 tokens, but one example takes 2 and"));
  write("val.bin", "odd");
  EXPECT_THAT(refusal(options()),
              HasSubstr(path("val.bin") + ": 3 bytes are not a whole number of tokens of 2"));
  write("val.bin", "");
  EXPECT_THAT(refusal(options()), HasSubstr("has only 0 tokens"));
  EXPECT_THAT(refusal(options({{"type", "int8"}})), HasSubstr("/dataset/type: unknown name \"int8\""));
  write("meta.json", R"({"vocabulary": "many"})");
  EXPECT_THAT(refusal(options()), HasSubstr(path("meta.json") + " at /vocabulary: must be "));
  write("meta.json", "{");
  EXPECT_THAT(refusal(options()), HasSubstr(path("meta.json")));
  // Text is no file of 32-bit tokens.
  write("meta.json", "{}");
  write("train.bin", "this is text");
  EXPECT_THAT(refusal(options({{"type", "uint32"}})),
              HasSubstr("train.bin: token 1936287860 at byte 0 is not below"));
}

TEST_F(Tokens, OfALargeFileAreSummarisedOnce) {
  const std::string file = write("large.bin", std::string((16 << 20) + 2, 'a'));
  const std::string bytes(16 << 20, 'b');
  const std::span<const std::uint8_t> span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const TokenSummary first = summarise_token_file(file, span, TokenType::uint16);
  EXPECT_EQ(first.largest, 0x6262);
  // Found by the file's name, size and time: these other bytes are not read.
  const std::string others(16 << 20, 'c');
  const std::span<const std::uint8_t> other(reinterpret_cast<const std::uint8_t*>(others.data()),
                                            others.size());
  EXPECT_EQ(summarise_token_file(file, other, TokenType::uint16).content_hash, first.content_hash);
  write("large.bin", std::string((16 << 20) + 4, 'a'));
  EXPECT_EQ(summarise_token_file(file, other, TokenType::uint16).largest, 0x6363);
}

}  // namespace
}  // namespace thinpipe::trainer
