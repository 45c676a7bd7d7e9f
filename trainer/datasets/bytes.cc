// SPDX-License-Identifier: Apache-2.0
// Text as bytes, for language models: each example is a stretch of text, and the label of each byte is the
// byte after it.
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "common/support/utf8.hh"
#include "trainer/base/input_file.hh"
#include "trainer/datasets/first_examples.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

struct BytesOptions {
  std::string path = "/usr/share/common-licenses";
  std::int64_t sequence_length = 128;
  double test_share = 0.1;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("path", path,
          Rule{.effect = "a UTF-8 text file, or a folder of such files and folders, read in the order of "
                         "their paths; the default folder is part of Debian"});
    field("sequence_length", sequence_length,
          Rule{.effect = "bytes per example", .at_least = 1, .at_most = 65536});
    field("test_share", test_share,
          Rule{.effect = "share of each file, at its end, that is used for testing", .above = 0, .below = 1});
    field("train_examples", train_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
  }
};

// Returns the regular files in and below a folder, sorted by path. A file that several links lead to appears
// once. Links to folders are not followed.
std::set<fs::path> find_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.insert(fs::canonical(entry.path()));
  }
  if (files.empty()) throw Error(path.string() + " contains no files");
  return files;
}

std::string read_text(const fs::path& path) {
  const InputFile file(path);
  std::string text = file.beginning(file.size());
  if (const auto invalid = find_invalid_utf8(text)) {
    throw Error(fmt::format("{} is not UTF-8 text: byte {}, {:#04x}, is invalid", path.string(), *invalid,
                            static_cast<unsigned char>(text[*invalid])));
  }
  return text;
}

struct Text {
  std::string train;
  std::string test;
  std::vector<std::int64_t> train_ends;  // where each file's training text ends in `train`
};

// The test set is the end of each file, not the end of the whole text, so that both sets are alike.
Text read_split(const fs::path& path, double test_share) {
  Text text;
  for (const fs::path& file : find_files(path)) {
    const std::string all = read_text(file);
    const auto test = static_cast<std::size_t>(static_cast<double>(all.size()) * test_share);
    text.train += all.substr(0, all.size() - test);
    text.test += all.substr(all.size() - test);
    text.train_ends.push_back(std::ssize(text.train));
  }
  return text;
}

// Returns consecutive stretches; a last one that is too short is left out.
Examples make_examples(const std::string& text, std::int64_t length, const std::string& part) {
  const std::int64_t count = (std::ssize(text) - 1) / length;
  if (text.empty() || count == 0) {
    throw Error(
        fmt::format("only {} bytes to {} with, but one example takes {} and the byte that follows; provide "
                    "more text, or change sequence_length or test_share",
                    text.size(), part, length));
  }
  const torch::Tensor bytes = torch::empty({count * length + 1}, torch::kUInt8);
  std::memcpy(bytes.data_ptr(), text.data(), bytes.nbytes());
  return {bytes.narrow(0, 0, count * length).view({count, length}),
          bytes.narrow(0, 1, count * length).view({count, length})};
}

// Returns the file in which each of these training examples begins: int64 [count].
torch::Tensor sources_of(const Text& text, std::int64_t count, std::int64_t length) {
  torch::Tensor sources = torch::empty({count}, torch::kInt64);
  auto end = text.train_ends.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    while (*end <= i * length) ++end;
    sources.data_ptr<std::int64_t>()[i] = end - text.train_ends.begin();
  }
  return sources;
}

class Bytes : public Dataset {
 public:
  Bytes(Examples train, Examples test, torch::Tensor sources)
      : train_(std::move(train)), test_(std::move(test)), sources_(std::move(sources)) {}

  DataShape shape() const override {
    return {.classes = 256, .sequence_length = train_.inputs.size(1), .bytes_per_token = 1};
  }
  const Examples& train() const override { return train_; }
  const Examples& test() const override { return test_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return inputs.to(torch::kInt64); }
  torch::Tensor sources() const override { return sources_; }

 private:
  Examples train_;
  Examples test_;
  torch::Tensor sources_;
};

std::unique_ptr<Dataset> make_bytes(JsonObject& object, Files files) {
  const auto options = read_options<BytesOptions>(object);
  if (files == Files::outlined) return nullptr;
  Text text;
  Examples train;
  Examples test;
  try {
    text = read_split(options.path, options.test_share);
    train = make_examples(text.train, options.sequence_length, "train");
    test = make_examples(text.test, options.sequence_length, "test");
  } catch (const std::exception& error) {
    throw InputError(object.place_of("path"),
                     fmt::format("must be a file or folder of UTF-8 text: {}", error.what()));
  }
  train = first_examples(train, options.train_examples, object.place_of("train_examples"));
  test = first_examples(test, options.test_examples, object.place_of("test_examples"));
  torch::Tensor sources = sources_of(text, train.size(), options.sequence_length);
  return std::make_unique<Bytes>(std::move(train), std::move(test), std::move(sources));
}

THINPIPE_REGISTER(Dataset){"bytes", "text, byte by byte, for language models",
                           describe_options<BytesOptions>(), make_bytes};

}  // namespace
}  // namespace thinpipe::trainer
