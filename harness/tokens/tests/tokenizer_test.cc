// SPDX-License-Identifier: Apache-2.0
#include "harness/tokens/tokenizer.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::uint32_t> tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

TEST(ByteTokenizer, GivesATokenPerByte) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(tokenizer->vocabulary(), 256);
  EXPECT_THAT(encode(*tokenizer, "aé"), ElementsAre('a', 0xc3, 0xa9));
}

TEST(CharacterTokenizer, NumbersCharactersByTheirCodePoints) {
  const auto tokenizer = make_character_tokenizer("zaé\n😀a€");
  EXPECT_EQ(tokenizer->vocabulary(), 6);
  EXPECT_EQ(tokenizer->details(), Json({{"characters", "\nazé€😀"}}));
  EXPECT_THAT(encode(*tokenizer, "a😀\né€z"), ElementsAre(1, 5, 0, 3, 4, 2));
  try {
    encode(*tokenizer, "ab");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the character \"b\" is not in the vocabulary"));
  }
}

TEST(WordTokenizer, KeepsTheMostFrequentWords) {
  const auto tokenizer = make_word_tokenizer("The cat, the dog: don't!\nthe CAT ran.\n", 6);
  EXPECT_EQ(tokenizer->details(), Json({{"words", {"<unk>", "the", "<eos>", "cat", "!", ","}}}));
  EXPECT_EQ(tokenizer->vocabulary(), 6);
  EXPECT_FALSE(tokenizer->is_lossless());
  EXPECT_THAT(encode(*tokenizer, "THE\tcat!  a dog\n"), ElementsAre(1, 3, 4, 0, 0, 2));
}

TEST(WordTokenizer, HasNoMoreWordsThanTheText) {
  const auto tokenizer = make_word_tokenizer("Märchen don't Märchen", 100);
  EXPECT_EQ(tokenizer->details(), Json({{"words", {"<unk>", "märchen", "don't"}}}));
  EXPECT_THAT(encode(*tokenizer, "märchen—don’t"), ElementsAre(1, 0, 2));
}

const std::string sample = [] {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "the cat sat on the mat, and the " + std::to_string(i) + "th dog  ran\n\nafter the cat\n";
  return text;
}();

// Returns nullptr if the build has no sentencepiece.
std::unique_ptr<Tokenizer> try_sentencepiece(std::int64_t vocabulary) {
  try {
    return make_sentencepiece_tokenizer(sample, vocabulary);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("this build has no sentencepiece") == std::string_view::npos)
      throw;
    EXPECT_THAT(error.what(), HasSubstr("libsentencepiece-dev"));
    return nullptr;
  }
}

TEST(SentencePiece, GivesPiecesOfWords) {
  const auto tokenizer = try_sentencepiece(320);
  if (!tokenizer) GTEST_SKIP() << "this build has no sentencepiece";
  EXPECT_EQ(tokenizer->vocabulary(), 320);
  const auto tokens = encode(*tokenizer, sample);
  EXPECT_LT(tokens.size(), sample.size() / 2);
  for (const std::uint32_t token : tokens) EXPECT_LT(token, 320);
  // Unknown characters are bytes, not one unknown token.
  EXPECT_EQ(encode(*tokenizer, "😀").size(), 4);
  EXPECT_EQ(encode(*tokenizer, "\n\n").size(), 2);
  EXPECT_NE(encode(*tokenizer, "a  b"), encode(*tokenizer, "a b"));
}

TEST(SentencePiece, IsTheSameForTheSameText) {
  const auto one = try_sentencepiece(320);
  if (!one) GTEST_SKIP() << "this build has no sentencepiece";
  const auto other = try_sentencepiece(320);
  EXPECT_EQ(one->model(), other->model());
  EXPECT_EQ(encode(*one, sample), encode(*other, sample));
  // In pieces, at line ends, as at once.
  std::vector<std::uint32_t> in_pieces;
  const std::size_t cut = sample.find('\n', 700) + 1;
  one->encode(sample.substr(0, cut), in_pieces);
  one->encode(sample.substr(cut), in_pieces);
  EXPECT_EQ(in_pieces, encode(*one, sample));
}

TEST(SentencePiece, StopsWhenNoPairsAreLeft) {
  const auto tokenizer = try_sentencepiece(100000);
  if (!tokenizer) GTEST_SKIP() << "this build has no sentencepiece";
  EXPECT_LT(tokenizer->vocabulary(), 2000);
}

TEST(SentencePiece, SaysThatAVocabularyIsTooSmall) {
  try {
    if (!try_sentencepiece(258)) GTEST_SKIP() << "this build has no sentencepiece";
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make a vocabulary of 258 tokens of this text"));
  }
}

}  // namespace
}  // namespace thinpipe
