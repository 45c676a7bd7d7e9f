// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/idx_images.hh"

#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/datasets/first_examples.hh"
#include "trainer/datasets/idx_file.hh"
#include "trainer/datasets/image_dataset.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t side = 28;

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Returns the file under any of its usual names. Tries compressed files first: they have a checksum.
std::string find_file(const std::filesystem::path& directory, const std::string& part,
                      const std::string& kind) {
  std::vector<std::string> names;
  for (const char* const separator : {"-", "."}) {
    for (const char* const ending : {".gz", ""}) {
      names.push_back(fmt::format("{}{}{}-ubyte{}", part, separator, kind, ending));
      // A folder may have this name too: some programs unpack each file into a folder.
      if (std::filesystem::is_regular_file(directory / names.back())) return directory / names.back();
    }
  }
  throw Error(fmt::format("{} has none of the files {}", directory.string(), fmt::join(names, ", ")));
}

// Reads the images and labels of "train" or "t10k" and checks that they match.
Examples read_part(const std::filesystem::path& directory, const std::string& part,
                   const std::vector<std::int64_t>& counts) {
  const std::string images_path = find_file(directory, part + "-images", "idx3");
  const std::string labels_path = find_file(directory, part + "-labels", "idx1");
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
  if (const auto largest = labels.max().item<std::int64_t>(); largest >= std::ssize(counts)) {
    throw Error(fmt::format("{}: label {}, expected 0 to {}", labels_path, largest, counts.size() - 1));
  }
  // Excerpts pass the check; the whole set must be the published one.
  if (labels.size(0) == total(counts)) {
    check_class_counts(labels, counts, labels_path);
  }
  return {images.unsqueeze(1), labels};
}

}  // namespace

std::unique_ptr<Dataset> make_idx_images(const IdxImages& images, const JsonObject& object,
                                         const IdxImagesOptions& options, Files files,
                                         const Augmentation& augmentation) {
  const auto part = [&](const std::string& name, const std::vector<std::int64_t>& counts) {
    if (files == Files::outlined) return outlined_images(total(counts), 1, side, side);
    try {
      return read_part(options.directory, name, counts);
    } catch (const std::exception& error) {
      throw InputError(object.place_of("directory"), fmt::format("must contain the files of {}: {}; {}",
                                                                 images.title, error.what(), images.remedy));
    }
  };
  const Examples train = part("train", images.train_counts);
  const Examples test = part("t10k", images.test_counts);
  return std::make_unique<ImageDataset>(ImageDataset::Parts{
      .train = first_examples(train, options.train_examples, object.place_of("train_examples")),
      .test = first_examples(test, options.test_examples, object.place_of("test_examples")),
      .classes = std::ssize(images.train_counts),
      .normalisation = {{images.pixel_mean}, {images.pixel_deviation}},
      .augmentation = augmentation,
      .side = {}});
}

}  // namespace thinpipe::trainer
