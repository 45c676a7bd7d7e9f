// SPDX-License-Identifier: Apache-2.0
// MNIST: 28 x 28 grey images of handwritten digits, 60000 to train and 10000 to test.
// LeCun, Bottou, Bengio, Haffner: Gradient-Based Learning Applied to Document Recognition (1998).
#include "trainer/datasets/idx_images.hh"

namespace thinpipe::trainer {
namespace {

struct MnistOptions : IdxImagesOptions {
  bool augment = false;

  MnistOptions() { directory = "/usr/share/datasets/mnist"; }

  void visit(auto& field) {
    IdxImagesOptions::visit(field);
    field("augment", augment,
          Rule{.effect = "in each epoch, crop each training image at random after padding it with 2 pixels "
                         "of zeros; no mirroring, because most digits are not symmetric"});
  }
};

std::unique_ptr<Dataset> make_mnist(JsonObject& object, Files files) {
  const IdxImages images{.title = "MNIST",
                         .remedy =
                             "download the four files from https://ossci-datasets.s3.amazonaws.com/mnist/ "
                             "(as train-images-idx3-ubyte.gz) into one folder and set directory to it",
                         .pixel_mean = 0.1307,
                         .pixel_deviation = 0.3081,
                         .train_counts = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
                         .test_counts = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}};
  const auto options = read_options<MnistOptions>(object);
  return make_idx_images(images, object, options, files, {.crop_padding = options.augment ? 2 : 0});
}

THINPIPE_REGISTER(Dataset){"mnist",
                           "28 x 28 grey images of handwritten digits: 60000 to train, 10000 to test",
                           describe_options<MnistOptions>(), make_mnist};

}  // namespace
}  // namespace thinpipe::trainer
