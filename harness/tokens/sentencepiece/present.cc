// SPDX-License-Identifier: Apache-2.0
// In a build with sentencepiece.
#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "harness/tokens/tokenizer.hh"

namespace thinpipe {
namespace {

// Removes the first line of a text, and returns it without its line end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The lines of a text, for sentencepiece's training. It ignores empty ones.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::string_view text) : rest_(text) { Lines::Next(); }

  bool done() const override { return done_; }
  void Next() override {
    done_ = rest_.empty();
    line_ = take_line(rest_);
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::string_view rest_;
  std::string line_;
  bool done_ = false;
};

std::string train(std::string_view text, std::int64_t vocabulary) {
  Lines lines(text);
  std::string model;
  // Text is neither normalised nor trimmed, so that decoding returns it unchanged.
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                                  {"vocab_size", std::to_string(vocabulary)},
                                                                  {"hard_vocab_limit", "false"},
                                                                  {"byte_fallback", "true"},
                                                                  {"normalization_rule_name", "identity"},
                                                                  {"add_dummy_prefix", "false"},
                                                                  {"remove_extra_whitespaces", "false"},
                                                                  {"max_sentence_length", "1000000"},
                                                                  {"num_threads", "1"},
                                                                  {"unk_id", "0"},
                                                                  {"bos_id", "-1"},
                                                                  {"eos_id", "-1"},
                                                                  {"pad_id", "-1"},
                                                                  {"minloglevel", "2"}},
                                                                 &lines, &model);
  if (!status.ok()) {
    throw Error(fmt::format("sentencepiece cannot make a vocabulary of {} tokens of this text: {}",
                            vocabulary, status.error_message()));
  }
  return model;
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(std::string model) : model_(std::move(model)) {
    const auto status = processor_.LoadFromSerializedProto(model_);
    if (!status.ok())
      throw Error(fmt::format("sentencepiece cannot read its own model: {}", status.error_message()));
  }

  std::int64_t vocabulary() const override { return processor_.GetPieceSize(); }

  // Pieces do not cross line ends.
  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) const override {
    std::vector<int> ids;
    while (!text.empty()) {
      const std::size_t before = text.size();
      const std::string_view line = take_line(text);
      encode_line(line, ids, tokens);
      if (before - text.size() > line.size()) encode_line("\n", ids, tokens);
    }
  }

  Json details() const override { return {{"model", sentencepiece_model_name}}; }
  std::optional<std::string> model() const override { return model_; }

 private:
  void encode_line(std::string_view line, std::vector<int>& ids, std::vector<std::uint32_t>& tokens) const {
    const auto status = processor_.Encode(line, &ids);
    if (!status.ok())
      throw Error(fmt::format("sentencepiece cannot encode the text: {}", status.error_message()));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string_view text, std::int64_t vocabulary) {
  return std::make_unique<SentencePieceTokenizer>(train(text, vocabulary));
}

}  // namespace thinpipe
