// SPDX-License-Identifier: Apache-2.0
// Names by content: independent of the path, and different if any part of the content changes.
#include "trainer/datasets/content_hash.hh"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/commands/check.hh"

namespace thinpipe::trainer {
namespace {

class ContentHash : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  static std::string hash_of(const Json& options) {
    return content_hash(
        *DatasetRegistry::instance().make(options, {"experiment.json", "/dataset"}, Files::read));
  }

  static std::string hash_of_text(const std::string& path, std::int64_t length = 4) {
    return hash_of({{"name", "bytes"}, {"path", path}, {"sequence_length", length}, {"test_share", 0.5}});
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ContentHash, OfAFileIsXxh3OfItsBytes) {
  EXPECT_EQ(content_hash_of_file(write("empty", "")), "2d06800538d394c2");
  const std::string large(3 << 20, 'x');  // more than one read returns
  EXPECT_EQ(content_hash_of_file(write("a", large)), content_hash_of_file(write("b", large)));
  EXPECT_NE(content_hash_of_file(write("a", large)), content_hash_of_file(write("c", large + "y")));
}

TEST_F(ContentHash, OfDataGoesByExamplesLabelsAndShapes) {
  const std::string text = "0123456789abcdef0123456789abcdef";
  const std::string hash = hash_of_text(write("a/text", text));
  EXPECT_EQ(hash, hash_of_text(write("b/text", text)));
  EXPECT_NE(hash, hash_of_text(write("c/text", "X" + text.substr(1)))) << "the first byte of training";
  EXPECT_NE(hash, hash_of_text(write("d/text", text.substr(0, 28) + "X" + text.substr(29))))
      << "the last label of testing";
  EXPECT_EQ(hash, hash_of_text(write("e/text", text.substr(0, 31) + "X"))) << "part of no example";
  EXPECT_NE(hash, hash_of_text(write("a/text", text), 8)) << "the same bytes in another shape";
}

TEST_F(ContentHash, OfATensorIsThatOfItsElementsWhateverTheirLayout) {
  const torch::Tensor tensor = torch::arange(24).view({2, 3, 4});
  EXPECT_EQ(content_hash(tensor.transpose(1, 2)), content_hash(tensor.transpose(1, 2).contiguous()));
  EXPECT_NE(content_hash(tensor.transpose(1, 2)), content_hash(tensor));
  EXPECT_NE(content_hash(torch::zeros({2}, torch::kInt32)), content_hash(torch::zeros({2}, torch::kFloat32)));
}

TEST_F(ContentHash, ACheckTellsWhatThePathsHold) {
  const std::string text = write("text", std::string(4096, 'x'));
  Json config = {{"workers", 1},
                 {"model", {{"name", "gpt"}, {"width", 16}, {"depth", 1}, {"heads", 1}}},
                 {"dataset", {{"name", "bytes"}, {"path", text}, {"sequence_length", 8}}},
                 {"training", {{"batch_size_per_worker", 1}}}};
  const Json answer = check_configurations(Json::array({config})).front();
  ASSERT_TRUE(answer.at("ok").get<bool>()) << answer.dump();
  EXPECT_EQ(answer.at("content"), Json({{"/dataset/path", hash_of(answer.at("config").at("dataset"))}}));
  config["model"] = {{"name", "mlp"}};
  config["dataset"] = {{"name", "synthetic"}};
  EXPECT_EQ(check_configurations(Json::array({config})).front().at("content"), Json::object());
}

}  // namespace
}  // namespace thinpipe::trainer
