// SPDX-License-Identifier: Apache-2.0
// Targets in bits per byte need to know how many bytes a token has.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/commands/check.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

class TextTarget : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }

  TextTarget() {
    write("train.bin", std::string(1000, '\1'));
    write("val.bin", std::string(100, '\1'));
  }

  Json answer(const Json& target) const {
    Json config = {
        {"workers", 1},
        {"model", {{"name", "gpt_tiny"}, {"width", 8}, {"heads", 1}, {"depth", 1}}},
        {"dataset",
         {{"name", "tokens"}, {"directory", folder_.path()}, {"sequence_length", 8}, {"vocabulary", 300}}},
        {"training", {{"batch_size_per_worker", 4}}},
        {"targets", {target}}};
    return check_configurations(Json::array({config})).front();
  }

  std::string refusal() const {
    const Json answered = answer({{"bits_per_byte", 2.0}});
    EXPECT_EQ(answered.value("pointer", ""), "/targets/0/bits_per_byte") << answered;
    return answered.value("message", "accepted");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(TextTarget, IsRefusedIfTheBytesPerTokenAreUnknown) {
  EXPECT_THAT(refusal(), HasSubstr("needs the number of bytes per token, which is unknown"));
}

TEST_F(TextTarget, IsTranslatedIfTokensHaveSeveralBytes) {
  write("meta.json", R"({"bytes_per_token": 3.5})");
  EXPECT_THAT(refusal(), HasSubstr(R"(use the target {"test_loss": 4.85203})"));  // 2 ln 2 x 3.5
}

TEST_F(TextTarget, IsAcceptedForBytes) {
  write("meta.json", R"({"bytes_per_token": 1.0})");
  EXPECT_TRUE(answer({{"bits_per_byte", 2.0}}).at("ok").get<bool>());
  EXPECT_TRUE(answer({{"test_loss", 2.0}}).at("ok").get<bool>());
}

TEST_F(TextTarget, IsAcceptedInPerplexityForAnyTokens) {
  EXPECT_TRUE(answer({{"perplexity", 40}}).at("ok").get<bool>());
}

TEST(ImageTarget, IsRefusedInPerplexity) {
  const Json config = {{"workers", 1},
                       {"model", {{"name", "mlp"}}},
                       {"dataset", {{"name", "synthetic"}, {"train_examples", 8}, {"test_examples", 4}}},
                       {"training", {{"batch_size_per_worker", 4}}},
                       {"targets", {{{"perplexity", 40}}}}};
  const Json answered = check_configurations(Json::array({config})).front();
  EXPECT_EQ(answered.value("pointer", ""), "/targets/0/perplexity") << answered;
  EXPECT_THAT(answered.value("message", "accepted"), HasSubstr("is for text"));
}

TEST_F(TextTarget, TheModelGetsTheVocabulary) {
  // Embedding of tokens (the head is tied) and of positions, and the rest, which no vocabulary changes.
  const auto parameters = [&] { return answer({{"test_loss", 2.0}}).at("plan").at("parameters").get<int>(); };
  const int with_300 = parameters();
  EXPECT_GT(with_300, 300 * 8);
  EXPECT_LT(with_300, 310 * 8 + 2000);
}

}  // namespace
}  // namespace thinpipe::trainer
