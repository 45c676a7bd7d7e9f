// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/tests/files.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(value >> shift & 255U);
  return out;
}

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& elements) {
  std::string out = std::string("\0\0\x08", 3) + static_cast<char>(shape.size());
  for (const std::uint32_t size : shape) out += big_endian(size);
  return out + elements;
}

std::string images(std::uint32_t count) {
  return idx({count, 28, 28}, std::string(count * 28 * 28, '\x07'));
}

std::string labels(const std::string& values) {
  return idx({static_cast<std::uint32_t>(values.size())}, values);
}

// Returns counts[c] labels of each class c, in the order of classes.
std::string labels_of(const std::vector<std::size_t>& counts) {
  std::string values;
  for (std::size_t c = 0; c < counts.size(); ++c) values += std::string(counts[c], static_cast<char>(c));
  return labels(values);
}

class Mnist : public DirectoryTest {
 protected:
  Mnist() {
    write("train-images-idx3-ubyte", images(3));
    write("train-labels-idx1-ubyte", labels(std::string("\x05\x00\x09", 3)));
    write("t10k-images-idx3-ubyte", images(2));
    write("t10k-labels-idx1-ubyte", labels("\x01\x02"));
  }

  Json options(const Json& more = Json::object()) const {
    Json out = {{"name", "mnist"}, {"directory", path()}};
    out.update(more);
    return out;
  }

  void remove(const std::string& name) const { std::filesystem::remove(path(name)); }
};

TEST_F(Mnist, IsReadFromPlainFiles) {
  const auto dataset = make_dataset(options());
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{3, 1, 28, 28}));
  EXPECT_TRUE(dataset->train().labels.equal(torch::tensor({5, 0, 9}, torch::kInt64)));
  EXPECT_TRUE(dataset->test().labels.equal(torch::tensor({1, 2}, torch::kInt64)));
  EXPECT_EQ(dataset->shape().classes, 10);
  EXPECT_NEAR(dataset->prepare(dataset->test().inputs)[0][0][0][0].item<double>(),
              (7 / 255.0 - 0.1307) / 0.3081, 1e-6);
  EXPECT_TRUE(dataset->augmentation().is_none());
}

TEST_F(Mnist, IsReadFromCompressedAndDottedFiles) {
  remove("train-images-idx3-ubyte");
  write_compressed("train-images-idx3-ubyte.gz", images(4));
  remove("train-labels-idx1-ubyte");
  write("train-labels.idx1-ubyte", labels("\x01\x02\x03\x04"));
  remove("t10k-labels-idx1-ubyte");
  write_compressed("t10k-labels.idx1-ubyte.gz", labels("\x08\x09"));
  const auto dataset = make_dataset(options());
  EXPECT_TRUE(dataset->train().labels.equal(torch::tensor({1, 2, 3, 4}, torch::kInt64)));
  EXPECT_TRUE(dataset->test().labels.equal(torch::tensor({8, 9}, torch::kInt64)));
}

TEST_F(Mnist, NeverMirrorsADigit) {
  const auto dataset = make_dataset(options({{"augment", true}}));
  EXPECT_EQ(dataset->augmentation().crop_padding, 2);
  EXPECT_FALSE(dataset->augmentation().flip);
}

TEST_F(Mnist, NamesTheMissingFileAndWhereToGetIt) {
  remove("t10k-images-idx3-ubyte");
  EXPECT_THAT(refusal(options()),
              AllOf(HasSubstr("experiment.json at /dataset/directory: must contain the files of MNIST"),
                    HasSubstr("has none of the files t10k-images-idx3-ubyte.gz, t10k-images-idx3-ubyte, "
                              "t10k-images.idx3-ubyte.gz"),
                    HasSubstr("https://ossci-datasets.s3.amazonaws.com/mnist/")));
}

TEST_F(Mnist, ChecksThatItsFilesBelongTogether) {
  write("train-images-idx3-ubyte", images(4));
  EXPECT_THAT(refusal(options()), HasSubstr("holds 4 images, but "));
  write("train-images-idx3-ubyte", idx({3, 2, 2}, std::string(12, '\0')));
  EXPECT_THAT(refusal(options()), HasSubstr("images of 2 x 2 pixels, expected 28 x 28"));
  write("train-images-idx3-ubyte", images(3));
  write("train-labels-idx1-ubyte", labels("\x01\x0a\x02"));
  EXPECT_THAT(refusal(options()), HasSubstr("label 10, expected 0 to 9"));
}

// A test set of full size takes 8 MB; its class counts identify the published one.
TEST_F(Mnist, OfFullSizeMustHaveThePublishedLabels) {
  write("t10k-images-idx3-ubyte", images(10000));
  write("t10k-labels-idx1-ubyte", labels_of({980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  EXPECT_EQ(make_dataset(options())->test().size(), 10000);
  write("t10k-labels-idx1-ubyte", labels_of({981, 1134, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  EXPECT_THAT(refusal(options()),
              AllOf(HasSubstr(path("t10k-labels-idx1-ubyte") + ": 981 examples of class 0"),
                    HasSubstr("the published set has 980")));
  EXPECT_THAT(refusal({{"name", "fashion_mnist"}, {"directory", path()}}), HasSubstr("Fashion-MNIST"));
}

}  // namespace
}  // namespace thinpipe::trainer
