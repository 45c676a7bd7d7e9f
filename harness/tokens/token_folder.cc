// SPDX-License-Identifier: Apache-2.0
#include "harness/tokens/token_folder.hh"

#include <bit>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/atomic_file.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "tokens are written without conversion");

// Text is encoded in pieces of about this size, which end with a line if there is one.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::int64_t most_tokens_of_16_bits = 1 << 16;

std::string read_text_file(const std::string& path) {
  std::string text = read_file(path);
  if (const auto invalid = find_invalid_utf8(text)) {
    throw Error(fmt::format("{} is not UTF-8 text: byte {}, {:#04x}, is invalid", path, *invalid,
                            static_cast<unsigned char>(text[*invalid])));
  }
  return text;
}

// Returns the beginning of the character at that byte.
std::size_t character_begin(const std::string& text, std::size_t at) {
  const auto continues = [&] { return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; };
  while (at > 0 && at < text.size() && continues()) --at;
  return at;
}

// A folder beside its final place, which is removed unless commit() moves it there.
class StagedFolder {
 public:
  explicit StagedFolder(fs::path place)
      : place_(std::move(place)),
        staged_(place_.parent_path() / fmt::format(".{}.{}.tmp", place_.filename().string(), ::getpid())) {
    fs::remove_all(staged_);  // of an earlier process with this number
    fs::create_directory(staged_);
  }
  ~StagedFolder() {
    std::error_code ignored;
    if (!staged_.empty()) fs::remove_all(staged_, ignored);
  }
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  StagedFolder(StagedFolder&&) = delete;
  StagedFolder& operator=(StagedFolder&&) = delete;

  fs::path operator/(const char* name) const { return staged_ / name; }

  // Replaces an empty folder, too.
  void commit() {
    fs::rename(staged_, place_);
    staged_.clear();
  }

 private:
  fs::path place_;
  fs::path staged_;  // empty after commit()
};

std::size_t piece_end(std::string_view text) {
  if (text.size() <= piece_bytes) return text.size();
  const std::size_t line_end = text.rfind('\n', piece_bytes - 1);
  if (line_end != std::string_view::npos) return line_end + 1;
  const std::size_t next = text.find('\n', piece_bytes);  // one very long line
  return next == std::string_view::npos ? text.size() : next + 1;
}

template <class Token>
void append(AtomicFile& file, const std::vector<std::uint32_t>& tokens) {
  const std::vector<Token> stored(tokens.begin(), tokens.end());
  file.write({reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(Token)});
}

// Encodes text into files. The type of their tokens depends on the vocabulary.
class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, const std::function<void(std::size_t)>& progress)
      : tokenizer_(tokenizer), progress_(progress) {}

  const char* type() const { return fits_16_bits() ? "uint16" : "uint32"; }

  // Returns the number of tokens.
  std::int64_t write(std::string_view text, const fs::path& path) {
    AtomicFile file(path);
    std::int64_t count = 0;
    std::vector<std::uint32_t> tokens;
    while (!text.empty()) {
      const std::size_t end = piece_end(text);
      tokens.clear();
      tokenizer_.encode(text.substr(0, end), tokens);
      fits_16_bits() ? append<std::uint16_t>(file, tokens) : append<std::uint32_t>(file, tokens);
      count += std::ssize(tokens);
      text.remove_prefix(end);
      progress_(encoded_ += end);
    }
    file.commit();
    return count;
  }

 private:
  bool fits_16_bits() const { return tokenizer_.vocabulary() <= most_tokens_of_16_bits; }

  const Tokenizer& tokenizer_;
  const std::function<void(std::size_t)>& progress_;
  std::size_t encoded_ = 0;
};

}  // namespace

SplitText read_split_text(const std::vector<std::string>& files, double test_share) {
  SplitText out;
  for (const std::string& file : files) {
    const std::string text = read_text_file(file);
    const auto test_bytes = static_cast<std::size_t>(static_cast<double>(text.size()) * test_share);
    const std::size_t cut = character_begin(text, text.size() - test_bytes);
    out.train += text.substr(0, cut);
    out.test += text.substr(cut);
  }
  return out;
}

void expect_new_folder(const fs::path& folder) {
  const fs::path parent = fs::absolute(folder).parent_path();
  if (!fs::is_directory(parent))
    throw Error(fmt::format("the folder {} does not exist; create it first", parent.string()));
  if (!fs::exists(fs::symlink_status(folder))) return;
  if (!fs::is_directory(fs::symlink_status(folder)) || !fs::is_empty(folder))
    throw Error("exists and is not an empty folder; remove it, or name another");
}

TokenFolderSummary write_token_folder(const fs::path& folder, const SplitText& text,
                                      const Tokenizer& tokenizer, const std::string& kind,
                                      const std::function<void(std::size_t bytes)>& progress) {
  if (text.train.empty() || text.test.empty()) {
    throw Error(fmt::format("{} bytes are too few to split into a part for training and one for testing",
                            text.bytes()));
  }
  StagedFolder staged(fs::absolute(folder));
  Encoder encoder(tokenizer, progress);
  TokenFolderSummary summary{.vocabulary = tokenizer.vocabulary()};
  summary.train_tokens = encoder.write(text.train, staged / "train.bin");
  summary.test_tokens = encoder.write(text.test, staged / "val.bin");
  summary.bytes_per_token = static_cast<double>(text.test.size()) / static_cast<double>(summary.test_tokens);
  Json meta = {{"kind", kind}, {"vocabulary", summary.vocabulary}, {"type", encoder.type()}};
  if (tokenizer.is_lossless()) meta["bytes_per_token"] = summary.bytes_per_token;
  meta.update(tokenizer.details());
  write_atomically(staged / "meta.json", meta.dump(2) + '\n');
  if (const auto model = tokenizer.model()) write_atomically(staged / sentencepiece_model_name, *model);
  staged.commit();
  return summary;
}

}  // namespace thinpipe
