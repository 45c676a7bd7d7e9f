// SPDX-License-Identifier: Apache-2.0
// Text as tokens, in the files that nanoGPT's training reads: each example is a stretch of tokens, and the
// label of each token is the token after it.
#include <filesystem>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/mapped_file.hh"
#include "trainer/base/xxh3.hh"
#include "trainer/datasets/first_examples.hh"
#include "trainer/datasets/text/token_file.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

struct TokensOptions {
  std::string directory;
  std::int64_t sequence_length = 128;
  std::optional<std::int64_t> vocabulary;
  std::optional<std::string> type;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("directory", directory,
          Rule{.effect =
                   "folder of train.bin and val.bin, as `thinpipe tokenize` and nanoGPT write them; has no "
                   "default"});
    field("sequence_length", sequence_length,
          Rule{.effect = "tokens per example", .at_least = 1, .at_most = 65536});
    field("vocabulary", vocabulary,
          Rule{.effect = "number of different tokens; null: as in meta.json, otherwise the largest token + 1",
               .at_least = 2,
               .at_most = static_cast<double>(largest_vocabulary)});
    field("type", type,
          Rule{.effect = "type of a token in the files; null: as in meta.json, otherwise uint16",
               .one_of = {"uint16", "uint32"}});
    field("train_examples", train_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
  }
};

struct TokenFile {
  fs::path path;
  std::shared_ptr<const MappedFile> file;
  TokenSummary summary;
};

TokenFile open_tokens(const fs::path& path, TokenType type) {
  TokenFile out{.path = path, .file = std::make_shared<MappedFile>(path), .summary = {}};
  try {
    out.summary = summarise_token_file(path, out.file->bytes(), type);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
  return out;
}

// Throws Error naming the first token that is not below the limit.
void expect_below(const TokenFile& tokens, TokenType type, std::int64_t limit, const std::string& remedy) {
  if (tokens.summary.largest < limit) return;
  const FoundToken found = find_token_from(tokens.file->bytes(), type, limit).value_or(FoundToken{});
  throw Error(fmt::format("{}: token {} at byte {} is not below {}; {}", tokens.path.string(), found.token,
                          found.index * token_bytes(type), limit, remedy));
}

// Returns consecutive stretches, as views of the file; a last one that is too short is left out.
Examples make_examples(const TokenFile& tokens, TokenType type, std::int64_t length) {
  const auto available = static_cast<std::int64_t>(tokens.file->bytes().size()) / token_bytes(type);
  const std::int64_t count = (available - 1) / length;
  if (available == 0 || count == 0) {
    throw Error(fmt::format(
        "{} has only {} tokens, but one example takes {} and the token that follows; provide more "
        "text, or change sequence_length",
        tokens.path.string(), available, length));
  }
  // from_blob() needs a pointer that may be written to, but nothing writes to examples.
  const torch::Tensor all = torch::from_blob(
      const_cast<std::uint8_t*>(tokens.file->bytes().data()), {count * length + 1},
      [file = tokens.file](void* /*begin*/) {}, type == TokenType::uint16 ? torch::kInt16 : torch::kInt32);
  return {all.narrow(0, 0, count * length).view({count, length}),
          all.narrow(0, 1, count * length).view({count, length})};
}

class Tokens : public Dataset {
 public:
  struct Parts {
    Examples train;
    Examples test;
    DataShape shape;
    TokenType type = TokenType::uint16;
    std::string content_hash;
  };

  explicit Tokens(Parts parts) : parts_(std::move(parts)) {}

  DataShape shape() const override { return parts_.shape; }
  const Examples& train() const override { return parts_.train; }
  const Examples& test() const override { return parts_.test; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return to_int64(inputs); }
  torch::Tensor prepare_labels(const torch::Tensor& labels) const override { return to_int64(labels); }
  std::optional<std::string> known_content_hash() const override { return parts_.content_hash; }

 private:
  // Older versions of LibTorch have no unsigned 16-bit tensors, so tokens from 32768 on look negative.
  torch::Tensor to_int64(const torch::Tensor& tokens) const {
    const torch::Tensor wide = tokens.to(torch::kInt64);
    return parts_.type == TokenType::uint16 ? wide.bitwise_and(0xffff) : wide;
  }

  Parts parts_;
};

Tokens::Parts read_tokens(const TokensOptions& options) {
  const fs::path folder = options.directory;
  const TokenMeta meta = read_token_meta(folder / "meta.json");
  const TokenType type = token_type(options.type.value_or(meta.type.value_or("uint16")));
  const TokenFile train = open_tokens(folder / "train.bin", type);
  const TokenFile test = open_tokens(folder / "val.bin", type);
  const std::int64_t found = std::max(train.summary.largest, test.summary.largest) + 1;
  const std::int64_t vocabulary = options.vocabulary
                                      ? *options.vocabulary
                                      : meta.vocabulary.value_or(std::min(found, largest_vocabulary));
  const char* const remedy = options.vocabulary || meta.vocabulary
                                 ? "set vocabulary to the right number, or type to the right type"
                                 : "set type to the right type";
  for (const TokenFile* tokens : {&train, &test}) expect_below(*tokens, type, vocabulary, remedy);
  Xxh3 content;
  for (const TokenFile* tokens : {&train, &test}) content.add(std::string_view(tokens->summary.content_hash));
  for (const std::int64_t number : {token_bytes(type), vocabulary})
    content.add(static_cast<std::uint64_t>(number));
  return {.train = make_examples(train, type, options.sequence_length),
          .test = make_examples(test, type, options.sequence_length),
          .shape = {.classes = vocabulary,
                    .sequence_length = options.sequence_length,
                    .bytes_per_token = meta.bytes_per_token},
          .type = type,
          .content_hash = content.digits()};
}

std::unique_ptr<Dataset> make_tokens(JsonObject& object, Files files) {
  const auto options = read_options<TokensOptions>(object);
  const Place place = object.place_of("directory");
  if (options.directory.empty()) {
    throw InputError(place, "must name a folder with train.bin and val.bin; `thinpipe tokenize` makes one");
  }
  if (files == Files::outlined) return nullptr;
  Tokens::Parts parts;
  try {
    parts = read_tokens(options);
  } catch (const std::exception& error) {
    throw InputError(place,
                     fmt::format("must be a folder with the tokens train.bin and val.bin: {}", error.what()));
  }
  parts.train = first_examples(parts.train, options.train_examples, object.place_of("train_examples"));
  parts.test = first_examples(parts.test, options.test_examples, object.place_of("test_examples"));
  return std::make_unique<Tokens>(std::move(parts));
}

THINPIPE_REGISTER(Dataset){"tokens", "text as tokens, in files such as nanoGPT's train.bin and val.bin",
                           describe_options<TokensOptions>(), make_tokens};

}  // namespace
}  // namespace thinpipe::trainer
