// SPDX-License-Identifier: Apache-2.0
// thinpipe tokenize: turns text into the files of tokens that the data set `tokens` reads.
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/readable.hh"
#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/tokens/token_folder.hh"

namespace thinpipe {
namespace {

struct TokenizeOptions {
  std::vector<std::string> files;
  std::string out;
  std::string tokens = "sentencepiece";
  std::int64_t vocabulary = 8192;
  double test_share = 0.1;
};

// A line on a terminal that is overwritten; elsewhere nothing is shown.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;

  void show(const std::string& text) const {
    if (terminal_) print_stderr("\r\033[K{}", text);
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

SplitText read_text(const TokenizeOptions& options) {
  try {
    return read_split_text(options.files, options.test_share);
  } catch (const std::exception& error) {
    throw InputError({"thinpipe tokenize", ""}, error.what());
  }
}

// Vocabularies are learnt from the part for training. That of characters needs all of the text.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizeOptions& options, const SplitText& text) {
  if (options.tokens == "bytes") return make_byte_tokenizer();
  if (options.tokens == "characters") return make_character_tokenizer(text.train + text.test);
  if (options.tokens == "words") return make_word_tokenizer(text.train, options.vocabulary);
  return make_sentencepiece_tokenizer(text.train, options.vocabulary);
}

int tokenize(const TokenizeOptions& options) {
  try {
    expect_new_folder(options.out);
  } catch (const Error& error) {
    throw InputError({fmt::format("--out {}", options.out), ""}, error.what());
  }
  const SplitText text = read_text(options);
  TokenFolderSummary written;
  {
    const ProgressLine line;
    line.show(fmt::format("making a vocabulary from {}", format_bytes(static_cast<double>(text.bytes()))));
    const auto tokenizer = make_tokenizer(options, text);
    written = write_token_folder(options.out, text, *tokenizer, options.tokens, [&](std::size_t bytes) {
      line.show(fmt::format("encoded {} % of {}", 100 * bytes / text.bytes(),
                            format_bytes(static_cast<double>(text.bytes()))));
    });
  }
  fmt::print(
      "wrote {} tokens to train on and {} to test on to {}: a vocabulary of {}, {:.4g} bytes per "
      "token\n",
      written.train_tokens, written.test_tokens, options.out, written.vocabulary, written.bytes_per_token);
  return 0;
}

void add_tokenize(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<TokenizeOptions>();
  CLI::App& command =
      *program.add_subcommand("tokenize", "Turn text into files of tokens to train language models on");
  command.add_option("text", options->files, "UTF-8 text files")->required()->type_name("TEXT");
  command.add_option("--out", options->out, "The folder to make; it must not exist or be empty")
      ->required()
      ->type_name("FOLDER");
  command
      .add_option("--tokens", options->tokens,
                  "sentencepiece (pieces of words, by byte pair encoding), words, characters or bytes")
      ->check(CLI::IsMember({"sentencepiece", "words", "characters", "bytes"}))
      ->type_name("KIND")
      ->capture_default_str();
  command
      .add_option("--vocabulary", options->vocabulary, "Number of different tokens of sentencepiece or words")
      ->check(CLI::Range(std::int64_t{300}, std::int64_t{1} << 24))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--test-share", options->test_share,
                  "Share of each file, at its end, that is used for testing")
      ->check(CLI::Range(0.0001, 0.9999))
      ->type_name("SHARE")
      ->capture_default_str();
  command.footer(
      "Examples:\n"
      "  thinpipe tokenize shakespeare.txt --out shakespeare --vocabulary 4096\n"
      "  thinpipe tokenize docs/*/*.md --out docs-characters --tokens characters\n"
      "  thinpipe tokenize shakespeare.txt --out words --tokens words --vocabulary 10000\n"
      "Writes train.bin, val.bin (unsigned little-endian integers of 16 bits, or of 32 if the\n"
      "vocabulary needs them), meta.json, and sentencepiece.model. The data set \"tokens\" and nanoGPT\n"
      "read such folders. The vocabulary of sentencepiece and words is learnt from the text for\n"
      "training; the same text gives the same files. Words that are not in it become <unk>.");
  command.callback([options, &invocation] { invocation.action = [options] { return tokenize(*options); }; });
}

THINPIPE_REGISTER(Command){10, add_tokenize};

}  // namespace
}  // namespace thinpipe
