// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/content_hash.hh"
#include "trainer/datasets/images/tests/image_bytes.hh"
#include "trainer/datasets/tests/cache_variable.hh"
#include "trainer/datasets/tests/files.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ImageFolder : public DirectoryTest {
 protected:
  ImageFolder() {
    for (const int number : {0, 1, 2}) {
      const std::string name = std::to_string(number) + ".png";
      write("data/train/cat/" + name, square(number));
      write("data/train/dog/" + name, square(100 + number));
    }
    write("data/val/cat/x.png", square(7));
    write("data/val/dog/x.png", square(107));
  }

  static std::string square(int level) {
    return encode_png(8, 8, std::vector<std::uint8_t>(3 * 8 * 8, static_cast<std::uint8_t>(level)));
  }

  Json options(const Json& more = Json::object()) const {
    Json out = {{"name", "image_folder"}, {"directory", path("data")}, {"side", 8}};
    out.update(more);
    return out;
  }

 private:
  CacheVariable cache_{path("cache")};
};

std::vector<std::int64_t> levels(const Examples& examples) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    out.push_back(examples.inputs[i][0][3][3].item<std::int64_t>());
  }
  return out;
}

TEST_F(ImageFolder, IsImagesWithTheirClasses) {
  const auto dataset = make_dataset(options());
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{6, 3, 8, 8}));
  EXPECT_EQ(dataset->train().inputs.scalar_type(), torch::kUInt8);
  EXPECT_THAT(levels(dataset->train()), testing::ElementsAre(0, 100, 1, 101, 2, 102));
  EXPECT_TRUE(dataset->train().labels.equal(torch::tensor({0, 1, 0, 1, 0, 1}, torch::kInt64)));
  EXPECT_THAT(levels(dataset->test()), testing::ElementsAre(7, 107));
  EXPECT_EQ(dataset->shape().classes, 2);
  EXPECT_EQ(dataset->shape().channels, 3);
  EXPECT_EQ(dataset->shape().width, 8);
  EXPECT_FALSE(dataset->shape().is_text());
  EXPECT_TRUE(dataset->augmentation().is_none());
  const torch::Tensor prepared = dataset->prepare(dataset->train().inputs).to(torch::kDouble);
  EXPECT_NEAR(prepared.mean().item<double>(), 0, 1e-5);
  EXPECT_NEAR(prepared.std(/*unbiased=*/false).item<double>(), 1, 1e-5);
}

TEST_F(ImageFolder, MayBeGreyNormalisedForImageNetAndAugmented) {
  const auto grey = make_dataset(options({{"channels", 1}}));
  EXPECT_EQ(grey->train().inputs.sizes(), (std::vector<std::int64_t>{6, 1, 8, 8}));
  const auto imagenet = make_dataset(options({{"normalisation", "imagenet"}, {"augment", true}}));
  const torch::Tensor black = imagenet->prepare(imagenet->train().inputs.narrow(0, 0, 1));
  EXPECT_NEAR(black[0][2][0][0].item<double>(), -0.406 / 0.225, 1e-5);
  EXPECT_EQ(imagenet->augmentation().crop_padding, 1);
  EXPECT_TRUE(imagenet->augmentation().flip);
}

TEST_F(ImageFolder, MayBeLimited) {
  const auto dataset = make_dataset(options({{"train_examples", 3}, {"test_examples", 1}}));
  EXPECT_THAT(levels(dataset->train()), testing::ElementsAre(0, 100, 1));
  EXPECT_EQ(dataset->test().size(), 1);
  EXPECT_EQ(dataset->shape().classes, 2);
  EXPECT_THAT(refusal(options({{"train_examples", 7}})),
              HasSubstr("/dataset/train_examples: must be at most 6, the number of examples"));
}

TEST_F(ImageFolder, OutlivesItsCacheFile) {
  const auto dataset = make_dataset(options());
  std::filesystem::remove_all(path("cache"));
  EXPECT_THAT(levels(dataset->train()), testing::ElementsAre(0, 100, 1, 101, 2, 102));
}

TEST_F(ImageFolder, IsNamedByItsFiles) {
  const std::string hash = content_hash(*make_dataset(options()));
  EXPECT_EQ(content_hash(*make_dataset(options({{"side", 4}}))), hash);
  write("data/train/cat/0.png", square(50));
  EXPECT_NE(content_hash(*make_dataset(options())), hash);
}

TEST_F(ImageFolder, SaysWhatIsWrong) {
  EXPECT_THAT(
      refusal({{"name", "image_folder"}}),
      HasSubstr("experiment.json at /dataset/directory: must name a folder with images in train/CLASS/"));
  EXPECT_THAT(refusal(options({{"directory", path("nowhere")}})),
              AllOf(HasSubstr("/dataset/directory: must be a folder with images"),
                    HasSubstr(path("nowhere") + " is not a folder")));
  EXPECT_THAT(refusal(options({{"channels", 2}})), HasSubstr("/dataset/channels: must be 1 or 3, but is 2"));
  EXPECT_THAT(refusal(options({{"shorter_side", 7}})),
              HasSubstr("/dataset/shorter_side: must be at least side, 8, but is 7"));
  EXPECT_THAT(refusal(options({{"channels", 1}, {"normalisation", "imagenet"}})),
              HasSubstr("/dataset/normalisation: is imagenet, which is for 3 channels"));
  write("data/train/cat/broken.jpg", square(1).substr(0, 60));
  EXPECT_THAT(refusal(options()),
              AllOf(HasSubstr("/dataset/directory"), HasSubstr("cannot decode 1 of 9 images"),
                    HasSubstr(path("data/train/cat/broken.jpg") + ": truncated")));
}

TEST_F(ImageFolder, NeedsAFolderForItsCache) {
  const CacheVariable wrong(write("file", ""));
  EXPECT_THAT(refusal(options()), AllOf(HasSubstr("cannot create the folder " + path("file/thinpipe/images")),
                                        HasSubstr("set XDG_CACHE_HOME")));
}

}  // namespace
}  // namespace thinpipe::trainer
