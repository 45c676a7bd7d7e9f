// SPDX-License-Identifier: Apache-2.0
// Data sets of the MNIST family: four IDX files, compressed or not, with 28 x 28 grey images of 10 classes.
#pragma once

#include "common/support/options.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct IdxImagesOptions {
  std::string directory;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("directory", directory,
          Rule{.effect = "folder of the four files: train-images-idx3-ubyte, train-labels-idx1-ubyte and the "
                         "same with t10k, plain or as .gz"});
    field("train_examples", train_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
  }
};

// The properties of one data set of the family.
struct IdxImages {
  std::string title;
  std::string remedy;     // how to get the files
  double pixel_mean = 0;  // of the training images, scaled to [0, 1]
  double pixel_deviation = 0;
  std::vector<std::int64_t> train_counts;  // examples of each class in the published set
  std::vector<std::int64_t> test_counts;
};

// Reads the files named in `object` and checks them, or outlines them. Throws InputError at "directory", with
// the remedy, if they are missing or damaged.
std::unique_ptr<Dataset> make_idx_images(const IdxImages& images, const JsonObject& object,
                                         const IdxImagesOptions& options, Files files,
                                         const Augmentation& augmentation);

}  // namespace thinpipe::trainer
