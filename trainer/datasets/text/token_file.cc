// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/text/token_file.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"
#include "trainer/base/cache_folder.hh"
#include "trainer/base/xxh3.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "tokens are read without conversion");

// Smaller files are read faster than a further file would be found.
constexpr std::size_t cached_from_bytes = std::size_t{16} << 20;

// Calls act(index, token) for each token until it returns false.
template <class Token, class Act>
void for_each_token(std::span<const std::uint8_t> bytes, const Act& act) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Token); ++i) {
    Token token = 0;
    std::memcpy(&token, bytes.data() + i * sizeof(Token), sizeof(Token));
    if (!act(static_cast<std::int64_t>(i), std::int64_t{token})) return;
  }
}

template <class Act>
void for_each_token(std::span<const std::uint8_t> bytes, TokenType type, const Act& act) {
  if (type == TokenType::uint16) {
    for_each_token<std::uint16_t>(bytes, act);
  } else {
    for_each_token<std::uint32_t>(bytes, act);
  }
}

fs::path cached_summary_path(const fs::path& path, TokenType type) {
  struct stat about {};
  system_call("look up " + path.string(), ::stat(path.c_str(), &about));
  Xxh3 key;
  key.add(std::string_view(fs::canonical(path).native()));
  for (const std::int64_t number : {static_cast<std::int64_t>(about.st_size), about.st_mtim.tv_sec,
                                    about.st_mtim.tv_nsec, token_bytes(type)}) {
    key.add(static_cast<std::uint64_t>(number));
  }
  return cache_folder("tokens") / (key.digits() + ".json");
}

std::optional<TokenSummary> try_read_summary(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  const Json json = Json::parse(read_file(path), shallow, /*allow_exceptions=*/false);
  try {
    return TokenSummary{.content_hash = json.at("content_hash").get<std::string>(),
                        .largest = json.at("largest").get<std::int64_t>()};
  } catch (const Json::exception&) {
    return std::nullopt;  // damaged
  }
}

}  // namespace

TokenType token_type(const std::string& name) {
  return name == "uint32" ? TokenType::uint32 : TokenType::uint16;
}

TokenSummary summarise_tokens(std::span<const std::uint8_t> bytes, TokenType type) {
  const auto size = static_cast<std::size_t>(token_bytes(type));
  if (bytes.size() % size != 0) {
    throw Error(fmt::format("{} bytes are not a whole number of tokens of {} bytes", bytes.size(), size));
  }
  TokenSummary summary;
  for_each_token(bytes, type, [&](std::int64_t, std::int64_t token) {
    summary.largest = std::max(summary.largest, token);
    return true;
  });
  Xxh3 hash;
  hash.add(bytes.data(), bytes.size());
  summary.content_hash = hash.digits();
  return summary;
}

TokenSummary summarise_token_file(const fs::path& path, std::span<const std::uint8_t> bytes, TokenType type) {
  if (bytes.size() < cached_from_bytes) return summarise_tokens(bytes, type);
  std::optional<fs::path> cached;
  try {
    cached = cached_summary_path(path, type);
    if (const auto known = try_read_summary(*cached)) return *known;
  } catch (const std::exception&) {
    // The cache only saves time: without it, the file is read again each time.
  }
  const TokenSummary summary = summarise_tokens(bytes, type);
  try {
    const Json json = {{"content_hash", summary.content_hash}, {"largest", summary.largest}};
    if (cached) write_atomically(*cached, json.dump() + '\n');
  } catch (const std::exception&) {
    // As above: without the entry, the file is read again.
  }
  return summary;
}

std::optional<FoundToken> find_token_from(std::span<const std::uint8_t> bytes, TokenType type,
                                          std::int64_t limit) {
  std::optional<FoundToken> found;
  for_each_token(bytes, type, [&](std::int64_t index, std::int64_t token) {
    if (token >= limit) found = FoundToken{index, token};
    return !found;
  });
  return found;
}

TokenMeta read_token_meta(const fs::path& path) {
  TokenMeta meta;
  if (!fs::exists(path)) return meta;
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  object.read("vocabulary", meta.vocabulary,
              Rule{.at_least = 1, .at_most = static_cast<double>(largest_vocabulary)});
  object.read("bytes_per_token", meta.bytes_per_token, Rule{.above = 0});
  object.read("type", meta.type, Rule{.one_of = {"uint16", "uint32"}});
  return meta;
}

}  // namespace thinpipe::trainer
