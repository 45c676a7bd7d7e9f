// SPDX-License-Identifier: Apache-2.0
// Images generated from a seed, for tests and for experiments that need no real data. Each class has a
// prototype, a coarse pattern of squares; each example is its class's prototype plus noise. All arithmetic is
// on integers and counter-based random numbers, so that every machine generates the same images.
#include <algorithm>
#include <cmath>

#include "common/support/options.hh"
#include "trainer/base/philox.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/normalisation.hh"

namespace thinpipe::trainer {
namespace {

// Side of a prototype's squares in pixels: coarse enough to survive two poolings by 2.
constexpr std::int64_t square_side = 4;

struct SyntheticOptions {
  std::int64_t classes = 10;
  std::int64_t channels = 1;
  std::int64_t height = 16;
  std::int64_t width = 16;
  std::int64_t train_examples = 4096;
  std::int64_t test_examples = 1024;
  double noise = 0.5;
  std::int64_t seed = 1;
  bool augment = false;

  void visit(auto& field) {
    field("classes", classes, Rule{.effect = "number of classes", .at_least = 2});
    field("channels", channels, Rule{.effect = "channels per image", .at_least = 1});
    field("height", height, Rule{.effect = "height of an image in pixels", .at_least = 1, .at_most = 4096});
    field("width", width, Rule{.effect = "width of an image in pixels", .at_least = 1, .at_most = 4096});
    field("train_examples", train_examples, Rule{.effect = "size of the training set", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "size of the test set", .at_least = 1});
    field("noise", noise,
          Rule{.effect = "standard deviation of a pixel's noise, as a fraction of the range of pixels",
               .at_least = 0,
               .at_most = 4});
    field("seed", seed,
          Rule{.effect = "seed of prototypes and noise; independent of the run's seed", .at_least = 0});
    field("augment", augment,
          Rule{.effect = "in each epoch, crop each training image at random after padding it with 4 pixels "
                         "of zeros, and mirror one in two"});
  }
};

std::vector<std::uint32_t> random_words(const SyntheticOptions& options, Purpose purpose, std::int64_t step,
                                        std::int64_t count) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  fill_words({.seed = static_cast<std::uint64_t>(options.seed),
              .step = static_cast<std::uint32_t>(step),
              .bucket = static_cast<std::uint32_t>(purpose)},
             words);
  return words;
}

// Returns uint8 [classes, channels, height, width]: squares of random grey.
torch::Tensor make_prototypes(const SyntheticOptions& options) {
  const std::int64_t rows = (options.height + square_side - 1) / square_side;
  const std::int64_t columns = (options.width + square_side - 1) / square_side;
  const std::int64_t count = options.classes * options.channels * rows * columns;
  const std::vector<std::uint32_t> words = random_words(options, Purpose::synthetic_prototypes, 0, count);
  torch::Tensor squares = torch::empty({options.classes, options.channels, rows, columns}, torch::kUInt8);
  std::transform(words.begin(), words.end(), squares.data_ptr<std::uint8_t>(),
                 [](std::uint32_t word) { return static_cast<std::uint8_t>(word >> 24U); });
  return squares.repeat_interleave(square_side, 2)
      .repeat_interleave(square_side, 3)
      .narrow(2, 0, options.height)
      .narrow(3, 0, options.width)
      .contiguous();
}

// Returns the sum of a word's four bytes minus its mean, 510: nearly normal, with standard deviation 147.8.
std::int64_t centred_byte_sum(std::uint32_t word) {
  return static_cast<std::int64_t>(word & 255U) + (word >> 8U & 255U) + (word >> 16U & 255U) + (word >> 24U) -
         510;
}

// Returns examples first..first+count-1 of an endless sequence, in which the classes alternate.
Examples make_examples(const SyntheticOptions& options, const torch::Tensor& prototypes, std::int64_t first,
                       std::int64_t count) {
  const double byte_sum_deviation = std::sqrt(4 * (256.0 * 256.0 - 1) / 12);
  const std::int64_t amplitude =
      std::llround(options.noise * 255 * 65536 / byte_sum_deviation);  // in units of 2^-16
  const std::int64_t pixels = options.channels * options.height * options.width;
  Examples examples{torch::empty({count, options.channels, options.height, options.width}, torch::kUInt8),
                    torch::arange(first, first + count, torch::kInt64).remainder(options.classes)};
  auto* image = examples.inputs.data_ptr<std::uint8_t>();
  for (std::int64_t i = first; i < first + count; ++i, image += pixels) {
    const auto* prototype = prototypes.data_ptr<std::uint8_t>() + i % options.classes * pixels;
    const std::vector<std::uint32_t> words = random_words(options, Purpose::synthetic_noise, i, pixels);
    std::transform(words.begin(), words.end(), prototype, image,
                   [amplitude](std::uint32_t word, std::uint8_t grey) {
                     const std::int64_t pixel = grey + (amplitude * centred_byte_sum(word) >> 16);
                     return static_cast<std::uint8_t>(std::clamp<std::int64_t>(pixel, 0, 255));
                   });
  }
  return examples;
}

class Synthetic : public Dataset {
 public:
  explicit Synthetic(const SyntheticOptions& options) : options_(options) {
    const torch::Tensor prototypes = make_prototypes(options);
    train_ = make_examples(options, prototypes, 0, options.train_examples);
    test_ = make_examples(options, prototypes, options.train_examples, options.test_examples);
    normalisation_ = Normalisation::of(train_.inputs);
  }

  DataShape shape() const override {
    return {.channels = options_.channels,
            .height = options_.height,
            .width = options_.width,
            .classes = options_.classes};
  }
  const Examples& train() const override { return train_; }
  const Examples& test() const override { return test_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return (*normalisation_)(inputs); }
  Augmentation augmentation() const override {
    return options_.augment ? Augmentation{.crop_padding = 4, .flip = true} : Augmentation{};
  }

 private:
  SyntheticOptions options_;
  Examples train_;
  Examples test_;
  std::optional<Normalisation> normalisation_;  // of the training images
};

THINPIPE_REGISTER(Dataset){"synthetic", "made-up images: a prototype per class plus noise, from a seed",
                           describe_options<SyntheticOptions>(),
                           [](JsonObject& object, Files) -> std::unique_ptr<Dataset> {
                             return std::make_unique<Synthetic>(read_options<SyntheticOptions>(object));
                           }};

}  // namespace
}  // namespace thinpipe::trainer
