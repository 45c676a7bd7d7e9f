// SPDX-License-Identifier: Apache-2.0
// thinpipe tokenize, as users run it.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class TokenizeCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (program_.folder() / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  Program::Ended tokenize(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "tokenize");
    arguments.insert(arguments.end(), {"--out", path("out")});
    return program_.run(arguments);
  }

  std::string refusal(const std::vector<std::string>& arguments) const {
    const auto ended = tokenize(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    return ended.errors;
  }

  std::vector<std::string> files(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  Program program_;
};

TEST_F(TokenizeCommand, WritesBytes) {
  const std::string text = write("text", "0123456789abcdefghij");
  const auto ended = tokenize({text, "--tokens", "bytes", "--test-share", "0.2"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(ended.output, "wrote 16 tokens to train on and 4 to test on to " + path("out") +
                              ": a vocabulary of 256, 1 bytes per token\n");
  EXPECT_EQ(ended.errors, "");
  EXPECT_THAT(files(path("out")), testing::ElementsAre("meta.json", "train.bin", "val.bin"));
  EXPECT_EQ(read_file(path("out/val.bin")), std::string("g\0h\0i\0j\0", 8));
  EXPECT_EQ(parse_json_file(path("out/meta.json")),
            Json({{"kind", "bytes"}, {"vocabulary", 256}, {"bytes_per_token", 1.0}, {"type", "uint16"}}));
}

TEST_F(TokenizeCommand, CutsEachFileBetweenCharacters) {
  const std::string one = write("one", "aéaéaé");  // 9 bytes: the last 4 begin inside é
  const std::string two = write("two", "bbbbb");
  const auto ended = tokenize({one, two, "--tokens", "characters", "--test-share", "0.5"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json meta = parse_json_file(path("out/meta.json"));
  EXPECT_EQ(meta.at("characters"), "abé");
  EXPECT_EQ(read_file(path("out/train.bin")), std::string("\0\0\2\0\0\0\1\0\1\0\1\0", 12));  // aéa bbb
  EXPECT_EQ(read_file(path("out/val.bin")), std::string("\2\0\0\0\2\0\1\0\1\0", 10));        // éaé bb
}

TEST_F(TokenizeCommand, ReplacesOnlyAnEmptyFolder) {
  const std::string text = write("text", std::string(100, 'x'));
  fs::create_directory(path("out"));
  EXPECT_EQ(tokenize({text, "--tokens", "bytes"}).status.code, 0);
  EXPECT_THAT(refusal({text, "--tokens", "bytes"}), HasSubstr("exists and is not an empty folder"));
  // Nothing else is left in the folder around it.
  for (const std::string& name : files(program_.folder())) EXPECT_FALSE(name.ends_with(".tmp")) << name;
}

TEST_F(TokenizeCommand, WritesWords) {
  const std::string text = write("text", "The cat saw the dog.\nThe dog saw the cat.\n");
  const auto ended = tokenize({text, "--tokens", "words", "--test-share", "0.5"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const Json meta = parse_json_file(path("out/meta.json"));
  EXPECT_EQ(meta.at("words"), Json({"<unk>", "the", ".", "<eos>", "cat", "dog", "saw"}));
  EXPECT_FALSE(meta.contains("bytes_per_token"));
}

TEST_F(TokenizeCommand, SaysWhatIsWrong) {
  EXPECT_THAT(refusal({path("nowhere"), "--tokens", "bytes"}),
              HasSubstr("open " + path("nowhere") + ": No such file"));
  const std::string latin = write("latin", "d\xe9j\xe0 vu");
  EXPECT_THAT(refusal({latin, "--tokens", "bytes"}), HasSubstr(latin + " is not UTF-8 text: byte 1, 0xe9"));
  const std::string text = write("text", std::string(100, 'x'));
  EXPECT_THAT(refusal({text, "--tokens", "letters"}), HasSubstr("letters"));
  EXPECT_THAT(refusal({text, "--vocabulary", "3"}), HasSubstr("--vocabulary"));
  EXPECT_FALSE(fs::exists(path("out")));
  const auto short_text = tokenize({write("short", "x"), "--tokens", "bytes"});
  EXPECT_EQ(short_text.status.code, 1);
  EXPECT_THAT(short_text.errors, HasSubstr("1 bytes are too few to split"));
  EXPECT_FALSE(fs::exists(path("out")));
  const auto nested = program_.run({"tokenize", text, "--tokens", "bytes", "--out", path("a/b")});
  EXPECT_THAT(nested.errors,
              AllOf(HasSubstr("--out " + path("a/b")), HasSubstr("does not exist; create it first")));
}

}  // namespace
}  // namespace thinpipe
