// SPDX-License-Identifier: Apache-2.0
// Files of tokens as nanoGPT keeps them: unsigned little-endian integers and nothing else. Without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace thinpipe::trainer {

// "uint16" or "uint32"; tokens of 32 bits are below 2^31.
enum class TokenType { uint16, uint32 };

TokenType token_type(const std::string& name);
constexpr std::int64_t token_bytes(TokenType type) {
  return type == TokenType::uint16 ? 2 : 4;
}

struct TokenSummary {
  std::string content_hash;  // of the bytes
  std::int64_t largest = 0;  // 0 if there are no tokens
};

// Reads all tokens. Throws Error if the bytes do not end with a whole token.
TokenSummary summarise_tokens(std::span<const std::uint8_t> bytes, TokenType type);

// Does the same for the bytes of the file `path`, but looks the summary of a large file up in this user's
// cache, by the file's path, size and modification time, and adds it there.
TokenSummary summarise_token_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes,
                                  TokenType type);

struct FoundToken {
  std::int64_t index = 0;  // in the file
  std::int64_t token = 0;
};

// Returns the first token that is not below the limit; nullopt if there is none.
std::optional<FoundToken> find_token_from(std::span<const std::uint8_t> bytes, TokenType type,
                                          std::int64_t limit);

// The file meta.json beside the tokens; each member is optional, and others are ignored.
struct TokenMeta {
  std::optional<std::int64_t> vocabulary;  // tokens are below it
  std::optional<double> bytes_per_token;   // of the test text
  std::optional<std::string> type;         // "uint16" or "uint32"
};

constexpr std::int64_t largest_vocabulary = 1 << 24;

// Returns nothing but nullopts if the file does not exist. Throws Error naming the file and the member.
TokenMeta read_token_meta(const std::filesystem::path& path);

}  // namespace thinpipe::trainer
