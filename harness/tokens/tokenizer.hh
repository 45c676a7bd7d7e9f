// SPDX-License-Identifier: Apache-2.0
// Turns text into tokens, numbers from 0 to the vocabulary's size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

class Tokenizer {
 public:
  Tokenizer() = default;
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  Tokenizer(Tokenizer&&) = delete;
  Tokenizer& operator=(Tokenizer&&) = delete;

  virtual std::int64_t vocabulary() const = 0;

  // Appends the tokens of a text, which is UTF-8. If the text ends with a line, more text may follow in
  // another call, with the same result as in one.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& tokens) const = 0;

  // Returns whether the text can be made of its tokens again. If not, a loss per token is not one per byte.
  virtual bool is_lossless() const { return true; }

  // Returns further members for the description of the tokens, as needed to decode them.
  virtual Json details() const { return Json::object(); }

  // Returns the contents of the file that other programs decode with; nullopt if there is none.
  virtual std::optional<std::string> model() const { return std::nullopt; }
};

// A token for each byte: 256.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// A token for each different character of `text`, in the order of their code points.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view text);

// The most frequent words of `text`; those of equal frequency in the order of their bytes. Token 0 is <unk>,
// any other word. A word is a sequence of letters, digits and apostrophes, with A to Z in lower case, or any
// other character but white space. A line's end is the word <eos>.
std::unique_ptr<Tokenizer> make_word_tokenizer(std::string_view text, std::int64_t vocabulary);

// A vocabulary of byte pair encoding (Sennrich et al. 2016), made of `text` by sentencepiece. The same text
// gives the same vocabulary. Characters that are not part of it become their bytes, so no text is lost. The
// vocabulary is smaller than asked for if the text has no more pairs to merge.
// Throws Error with the reason and the remedy if the build has no sentencepiece, or if the vocabulary is too
// small for the text.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string_view text, std::int64_t vocabulary);

// The model's file name. sentencepiece's own programs read it.
constexpr const char* sentencepiece_model_name = "sentencepiece.model";

}  // namespace thinpipe
