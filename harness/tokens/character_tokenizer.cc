// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "harness/tokens/characters.hh"
#include "harness/tokens/tokenizer.hh"

namespace thinpipe {
namespace {

class CharacterTokenizer : public Tokenizer {
 public:
  explicit CharacterTokenizer(std::string_view text) {
    for_each_character(text, [this](std::string_view character) { ids_.emplace(character, 0); });
    std::uint32_t next = 0;  // the order of UTF-8's bytes is that of the code points
    for (auto& [character, id] : ids_) id = next++;
  }

  std::int64_t vocabulary() const override { return std::ssize(ids_); }

  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) const override {
    for_each_character(text, [&](std::string_view character) {
      const auto known = ids_.find(character);
      if (known == ids_.end())
        throw Error("the character \"" + std::string(character) + "\" is not in the vocabulary");
      tokens.push_back(known->second);
    });
  }

  // The characters, in the order of their tokens.
  Json details() const override {
    std::string characters;
    for (const auto& [character, id] : ids_) characters += character;
    return {{"characters", characters}};
  }

 private:
  std::map<std::string, std::uint32_t, std::less<>> ids_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view text) {
  return std::make_unique<CharacterTokenizer>(text);
}

}  // namespace thinpipe
