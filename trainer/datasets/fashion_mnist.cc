// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST: 28 x 28 grey images of 10 kinds of clothing, 60000 to train and 10000 to test.
// Xiao, Rasul, Vollgraf: Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms
// (2017).
#include "trainer/datasets/idx_images.hh"

namespace thinpipe::trainer {
namespace {

struct FashionMnistOptions : IdxImagesOptions {
  FashionMnistOptions() { directory = "/usr/share/datasets/fashion-mnist"; }
};

std::unique_ptr<Dataset> make_fashion_mnist(JsonObject& object, Files files) {
  const IdxImages images{.title = "Fashion-MNIST",
                         .remedy =
                             "install them with `apt install dataset-fashion-mnist` and keep the default "
                             "directory",
                         .pixel_mean = 0.2860,
                         .pixel_deviation = 0.3530,
                         .train_counts = std::vector<std::int64_t>(10, 6000),
                         .test_counts = std::vector<std::int64_t>(10, 1000)};
  return make_idx_images(images, object, read_options<FashionMnistOptions>(object), files, {});
}

THINPIPE_REGISTER(Dataset){"fashion_mnist",
                           "28 x 28 grey images of 10 kinds of clothing: 60000 to train, 10000 to test",
                           describe_options<FashionMnistOptions>(), make_fashion_mnist};

}  // namespace
}  // namespace thinpipe::trainer
