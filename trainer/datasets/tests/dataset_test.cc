// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/dataset.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "trainer/datasets/normalisation.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Place place{"experiment.json", "/dataset"};

std::unique_ptr<Dataset> make(const Json& options) {
  return DatasetRegistry::instance().make(options, place, Files::read);
}

std::string refusal(const Json& options) {
  try {
    make(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::uint64_t hash(const torch::Tensor& bytes) {
  return XXH3_64bits(bytes.data_ptr<std::uint8_t>(), static_cast<std::size_t>(bytes.numel()));
}

TEST(Normalisation, ScalesShiftsAndDividesPerChannel) {
  const Normalisation normalise({0.5, 0.2}, {0.25, 0.1});
  const torch::Tensor images =
      torch::tensor({255, 0}).to(torch::kUInt8).view({1, 2, 1, 1}).expand({1, 2, 3, 3});
  const torch::Tensor normalised = normalise(images);
  EXPECT_EQ(normalised.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(normalised.select(1, 0).allclose(torch::full({1, 3, 3}, 2.0)));
  EXPECT_TRUE(normalised.select(1, 1).allclose(torch::full({1, 3, 3}, -2.0)));
}

TEST(Normalisation, OfImagesGivesMeanZeroAndDeviationOne) {
  torch::manual_seed(1);
  torch::Tensor images = torch::randint(0, 256, {50, 3, 8, 8}).to(torch::kUInt8);
  images.select(1, 2).fill_(7);
  const torch::Tensor normalised = Normalisation::of(images)(images);
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    // In double precision: the rounding of a float32 sum depends on the CPU.
    const torch::Tensor values = normalised.select(1, channel).to(torch::kDouble);
    EXPECT_NEAR(values.mean().item<double>(), 0, 1e-6);
    EXPECT_NEAR(values.std(/*unbiased=*/false).item<double>(), channel < 2 ? 1 : 0, 1e-5);
  }
}

TEST(FashionMnist, IsTheOneEveryoneKnows) {
  const auto dataset = make({{"name", "fashion_mnist"}});
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{60000, 1, 28, 28}));
  EXPECT_EQ(dataset->test().inputs.sizes(), (std::vector<std::int64_t>{10000, 1, 28, 28}));
  EXPECT_TRUE(torch::bincount(dataset->train().labels).equal(torch::full({10}, 6000, torch::kInt64)));
  EXPECT_TRUE(torch::bincount(dataset->test().labels).equal(torch::full({10}, 1000, torch::kInt64)));
  const torch::Tensor normalised = dataset->prepare(dataset->train().inputs);
  EXPECT_NEAR(normalised.mean().item<double>(), 0, 1e-3);
  EXPECT_NEAR(normalised.std().item<double>(), 1, 1e-3);
  EXPECT_EQ(dataset->shape().classes, 10);
}

TEST(FashionMnist, TakesTheFirstExamplesWhenLimited) {
  const auto dataset = make({{"name", "fashion_mnist"}, {"train_examples", 100}, {"test_examples", nullptr}});
  EXPECT_EQ(dataset->train().size(), 100);
  EXPECT_EQ(dataset->train().inputs.size(0), 100);
  EXPECT_EQ(dataset->test().size(), 10000);
  EXPECT_THAT(refusal({{"name", "fashion_mnist"}, {"train_examples", 60001}}),
              HasSubstr("/dataset/train_examples: must be at most 60000"));
}

TEST(FashionMnist, NamesTheMissingFileAndTheRemedy) {
  EXPECT_THAT(refusal({{"name", "fashion_mnist"}, {"directory", "/nowhere"}}),
              AllOf(HasSubstr("experiment.json at /dataset/directory: "),
                    HasSubstr("/nowhere has none of the files train-images-idx3-ubyte.gz, "),
                    HasSubstr("`apt install dataset-fashion-mnist`")));
}

TEST(Synthetic, HasTheShapeItWasAskedFor) {
  const auto dataset = make({{"name", "synthetic"},
                             {"classes", 3},
                             {"channels", 2},
                             {"height", 5},
                             {"width", 9},
                             {"train_examples", 30},
                             {"test_examples", 7}});
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{30, 2, 5, 9}));
  EXPECT_TRUE(torch::bincount(dataset->train().labels).equal(torch::full({3}, 10, torch::kInt64)));
  EXPECT_EQ(dataset->test().size(), 7);
  EXPECT_EQ(dataset->test().labels.scalar_type(), torch::kInt64);
  EXPECT_EQ(dataset->shape().width, 9);
  EXPECT_NEAR(dataset->prepare(dataset->train().inputs).std().item<double>(), 1, 1e-2);
}

// Pins the definition, on which runs on different machines and old records depend.
TEST(Synthetic, IsTheSameEverywhere) {
  const auto dataset = make({{"name", "synthetic"}});
  const torch::Tensor pixels = dataset->train().inputs[13][0][0].narrow(0, 0, 8).to(torch::kInt64);
  EXPECT_TRUE(pixels.equal(torch::tensor({118, 0, 255, 204, 255, 255, 215, 255}, torch::kInt64))) << pixels;
  EXPECT_EQ(hash(dataset->train().inputs), 3949544994565845757U);
  EXPECT_EQ(hash(dataset->test().inputs), 5697444183641675079U);
}

TEST(Synthetic, IsAugmentedWhenAsked) {
  const Json options = {{"name", "synthetic"}, {"train_examples", 10}, {"test_examples", 10}};
  EXPECT_TRUE(make(options)->augmentation().is_none());
  Json augmented = options;
  augmented["augment"] = true;
  EXPECT_EQ(make(augmented)->augmentation().crop_padding, 4);
  EXPECT_TRUE(make(augmented)->augmentation().flip);
  EXPECT_TRUE(make(augmented)->train().inputs.equal(make(options)->train().inputs));
}

TEST(Synthetic, DependsOnItsSeedAndKeepsTrainAndTestApart) {
  const auto images = [](std::int64_t seed) {
    return make({{"name", "synthetic"}, {"seed", seed}, {"train_examples", 10}, {"test_examples", 10}});
  };
  EXPECT_FALSE(images(1)->train().inputs.equal(images(2)->train().inputs));
  EXPECT_FALSE(images(1)->train().inputs.equal(images(1)->test().inputs));
}

TEST(Synthetic, WithoutNoiseShowsThePrototypes) {
  const auto dataset = make({{"name", "synthetic"}, {"noise", 0}, {"train_examples", 20}});
  const torch::Tensor& images = dataset->train().inputs;
  EXPECT_TRUE(images[0].equal(images[10]));
  EXPECT_FALSE(images[0].equal(images[1]));
  EXPECT_TRUE(images[0][0].narrow(0, 0, 4).narrow(1, 0, 4).eq(images[0][0][0][0]).all().item<bool>());
}

TEST(Synthetic, NoiseHasTheStatedDeviation) {
  const auto sample = [](double noise) {
    return make({{"name", "synthetic"}, {"noise", noise}, {"train_examples", 2000}})
        ->train()
        .inputs.to(torch::kFloat32);
  };
  const torch::Tensor noise = (sample(0.02) - sample(0)) / 255;
  const torch::Tensor inside = sample(0).gt(40).logical_and(sample(0).lt(215));  // no clamping there
  EXPECT_NEAR(noise.masked_select(inside).std().item<double>(), 0.02, 2e-4);
}

TEST(Synthetic, ClassesCanBeLearnt) {
  const auto dataset = make({{"name", "synthetic"}});
  const auto flat = [&](const Examples& examples) { return dataset->prepare(examples.inputs).flatten(1); };
  std::vector<torch::Tensor> means;
  for (std::int64_t c = 0; c < 10; ++c) {
    means.push_back(flat(dataset->train()).index({dataset->train().labels == c}).mean(0));
  }
  const torch::Tensor nearest = torch::cdist(flat(dataset->test()), torch::stack(means)).argmin(1);
  EXPECT_GT(nearest.eq(dataset->test().labels).to(torch::kFloat32).mean().item<double>(), 0.95);
}

TEST(Datasets, SayWhatIsWrongWithTheirInput) {
  EXPECT_THAT(refusal({{"name", "synthetic"}, {"classes", 1}}),
              HasSubstr("/dataset/classes: must be at least 2"));
  EXPECT_THAT(refusal({{"name", "fashion_mnst"}}), HasSubstr("did you mean \"fashion_mnist\"?"));
}

}  // namespace
}  // namespace thinpipe::trainer
