// SPDX-License-Identifier: Apache-2.0
// A folder of tokens for the data set `tokens` and for nanoGPT: train.bin, val.bin and meta.json.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/tokens/tokenizer.hh"

namespace thinpipe {

// Text in two parts, for training and for testing.
struct SplitText {
  std::string train;
  std::string test;

  std::size_t bytes() const { return train.size() + test.size(); }
};

// Reads files; the last `test_share` of each is for testing, cut at the beginning of a character. Throws
// SystemError or Error with the file's name if it cannot be read or is not UTF-8.
SplitText read_split_text(const std::vector<std::string>& files, double test_share);

struct TokenFolderSummary {
  std::int64_t vocabulary = 0;
  std::int64_t train_tokens = 0;
  std::int64_t test_tokens = 0;
  double bytes_per_token = 0;  // of the text for testing
};

// Throws Error unless the folder can be made: it must not exist or be empty, and its parent must exist.
void expect_new_folder(const std::filesystem::path& folder);

// Encodes the text and writes the folder, which appears whole or not at all. `kind` goes into meta.json.
// `progress` is called with the bytes encoded so far. Throws Error if a part has no tokens.
TokenFolderSummary write_token_folder(const std::filesystem::path& folder, const SplitText& text,
                                      const Tokenizer& tokenizer, const std::string& kind,
                                      const std::function<void(std::size_t bytes)>& progress);

}  // namespace thinpipe
