// Fashion-MNIST: 28 x 28 grey images of 10 kinds of clothing, 60000 to train and 10000 to test.
// Xiao, Rasul, Vollgraf: Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms
// (2017).
#include <filesystem>

#include <fmt/format.h>

#include "harness/support/options.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/idx_file.hh"
#include "trainer/datasets/normalisation.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t side = 28;
constexpr std::int64_t classes = 10;
// Of the 60000 training images.
constexpr double pixel_mean = 0.2860;
constexpr double pixel_deviation = 0.3530;

struct FashionMnistOptions {
  std::string directory = "/usr/share/datasets/fashion-mnist";
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("directory", directory,
          Rule{.effect = "where the four files *-ubyte.gz lie; `apt install dataset-fashion-mnist` puts them "
                         "into the default"});
    field("train_examples", train_examples,
          Rule{.effect = "only the first so many; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "only the first so many; null: all", .at_least = 1});
  }
};

// Reads the images and labels of "train" or "t10k" and checks that they belong together.
Examples read_part(const std::filesystem::path& directory, const std::string& part) {
  const std::string images_path = directory / (part + "-images-idx3-ubyte.gz");
  const std::string labels_path = directory / (part + "-labels-idx1-ubyte.gz");
  const torch::Tensor images = read_idx(images_path, 3);
  const torch::Tensor labels = read_idx(labels_path, 1).to(torch::kInt64);
  if (images.size(1) != side || images.size(2) != side) {
    throw Error(fmt::format("{}: images of {} x {} pixels, expected {} x {}", images_path, images.size(1),
                            images.size(2), side, side));
  }
  if (images.size(0) != labels.size(0) || images.size(0) == 0) {
    throw Error(fmt::format("{} holds {} images, but {} {} labels", images_path, images.size(0), labels_path,
                            labels.size(0)));
  }
  if (const auto largest = labels.max().item<std::int64_t>(); largest >= classes) {
    throw Error(fmt::format("{}: label {}, expected 0 to {}", labels_path, largest, classes - 1));
  }
  return {images.unsqueeze(1), labels};
}

Examples limited(Examples examples, const std::optional<std::int64_t>& count, const Place& place) {
  if (!count) return examples;
  if (*count > examples.size()) {
    throw InputError(
        place, fmt::format("must be at most {}, for there are no more, but is {}", examples.size(), *count));
  }
  return {examples.inputs.narrow(0, 0, *count), examples.labels.narrow(0, 0, *count)};
}

class FashionMnist : public Dataset {
 public:
  FashionMnist(Examples train, Examples test) : train_(std::move(train)), test_(std::move(test)) {}

  DataShape shape() const override {
    return {.channels = 1, .height = side, .width = side, .classes = classes};
  }
  const Examples& train() const override { return train_; }
  const Examples& test() const override { return test_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return normalisation_(inputs); }

 private:
  Examples train_;
  Examples test_;
  Normalisation normalisation_{{pixel_mean}, {pixel_deviation}};
};

std::unique_ptr<Dataset> make_fashion_mnist(JsonObject& object) {
  const auto options = read_options<FashionMnistOptions>(object);
  const auto part = [&](const std::string& name) {
    try {
      return read_part(options.directory, name);
    } catch (const std::exception& error) {
      throw InputError(object.place_of("directory"),
                       fmt::format("must hold the files of Fashion-MNIST: {}; get them with `apt install "
                                   "dataset-fashion-mnist` and leave the directory at its default",
                                   error.what()));
    }
  };
  Examples train = limited(part("train"), options.train_examples, object.place_of("train_examples"));
  Examples test = limited(part("t10k"), options.test_examples, object.place_of("test_examples"));
  return std::make_unique<FashionMnist>(std::move(train), std::move(test));
}

const Registration<Dataset> registration{
    "fashion_mnist", "28 x 28 grey images of 10 kinds of clothing: 60000 to train, 10000 to test",
    describe_options<FashionMnistOptions>(), make_fashion_mnist};

}  // namespace
}  // namespace thinpipe::trainer
