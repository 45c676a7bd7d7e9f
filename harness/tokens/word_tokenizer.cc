// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "harness/tokens/characters.hh"
#include "harness/tokens/tokenizer.hh"

namespace thinpipe {
namespace {

constexpr std::string_view unknown_word = "<unk>";
constexpr std::string_view end_of_line = "<eos>";

// The first bytes of U+2000 to U+203F: dashes, quotation marks.
constexpr std::string_view general_punctuation = "\xe2\x80";
constexpr std::string_view apostrophe = "\xe2\x80\x99";

bool is_space(std::string_view character) {
  return character.find_first_of(" \t\r\v\f") == 0;
}

bool is_part_of_a_word(std::string_view character) {
  if (character.size() > 1) return !character.starts_with(general_punctuation) || character == apostrophe;
  return std::isalnum(static_cast<unsigned char>(character[0])) != 0 || character == "'";
}

void append_in_lower_case(std::string_view character, std::string& word) {
  if (character == apostrophe) {
    word += '\'';
  } else if (character.size() == 1 && character[0] >= 'A' && character[0] <= 'Z') {
    word += static_cast<char>(character[0] - 'A' + 'a');
  } else {
    word += character;
  }
}

// Calls act(word) for each word of the text.
template <class Act>
void for_each_word(std::string_view text, const Act& act) {
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) act(std::string_view(word));
    word.clear();
  };
  for_each_character(text, [&](std::string_view character) {
    if (is_part_of_a_word(character)) return append_in_lower_case(character, word);
    end_word();
    if (!is_space(character)) act(character == "\n" ? end_of_line : character);
  });
  end_word();
}

class WordTokenizer : public Tokenizer {
 public:
  WordTokenizer(std::string_view text, std::int64_t vocabulary) {
    std::unordered_map<std::string, std::int64_t> counts;
    for_each_word(text, [&](std::string_view word) { ++counts[std::string(word)]; });
    std::vector<std::pair<std::string, std::int64_t>> words(counts.begin(), counts.end());
    std::ranges::sort(words, [](const auto& one, const auto& other) {
      return one.second != other.second ? one.second > other.second : one.first < other.first;
    });
    words_.emplace_back(unknown_word);
    for (const auto& [word, count] : words) {
      if (std::ssize(words_) == vocabulary) break;
      ids_.emplace(word, static_cast<std::uint32_t>(words_.size()));
      words_.push_back(word);
    }
  }

  std::int64_t vocabulary() const override { return std::ssize(words_); }

  bool is_lossless() const override { return false; }

  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) const override {
    for_each_word(text, [&](std::string_view word) {
      const auto known = ids_.find(std::string(word));
      tokens.push_back(known == ids_.end() ? 0 : known->second);
    });
  }

  // The words, in the order of their tokens.
  Json details() const override { return {{"words", words_}}; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // of all words but the unknown one
};

}  // namespace

std::unique_ptr<Tokenizer> make_word_tokenizer(std::string_view text, std::int64_t vocabulary) {
  return std::make_unique<WordTokenizer>(text, vocabulary);
}

}  // namespace thinpipe
