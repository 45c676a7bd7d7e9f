// Data sets of the MNIST family: four IDX files with 28 x 28 grey images of 10 classes, each compressed or
// not.
#pragma once

#include "harness/support/options.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

struct IdxImagesOptions {
  std::string directory;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("directory", directory,
          Rule{.effect =
                   "where the four files lie: train-images-idx3-ubyte, train-labels-idx1-ubyte and the same "
                   "with t10k, as they are or as .gz"});
    field("train_examples", train_examples,
          Rule{.effect = "only the first so many; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "only the first so many; null: all", .at_least = 1});
  }
};

// What tells one data set of the family from another.
struct IdxImages {
  std::string title;
  std::string remedy;     // how to get the files
  double pixel_mean = 0;  // of the training images, scaled to [0, 1]
  double pixel_deviation = 0;
  std::vector<std::int64_t> train_counts;  // examples of each class in the published set
  std::vector<std::int64_t> test_counts;
};

// Reads the files that `object` asks for and checks them, or outlines them. Throws InputError at "directory"
// when they are missing or damaged, with the remedy.
std::unique_ptr<Dataset> make_idx_images(const IdxImages& images, const JsonObject& object,
                                         const IdxImagesOptions& options, Files files,
                                         const Augmentation& augmentation);

}  // namespace thinpipe::trainer
