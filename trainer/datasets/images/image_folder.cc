// SPDX-License-Identifier: Apache-2.0
// Images of the user's own: a folder for each class, as torchvision's ImageFolder reads them.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/cache_folder.hh"
#include "trainer/datasets/image_dataset.hh"
#include "trainer/datasets/images/image_cache.hh"

namespace thinpipe::trainer {
namespace {

// The mean and deviation that models trained on ImageNet expect.
const Normalisation& imagenet_normalisation() {
  static const Normalisation normalisation({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  return normalisation;
}

struct ImageFolderOptions {
  std::string directory;
  std::int64_t side = 224;
  std::optional<std::int64_t> shorter_side;
  std::int64_t channels = 3;
  std::string normalisation = "own";
  bool augment = false;
  std::optional<std::string> test_folder;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field(
        "directory", directory,
        Rule{.effect = "folder of JPEG and PNG files in train/CLASS/ and test/CLASS/ (or val/CLASS/); has no "
                       "default"});
    field(
        "side", side,
        Rule{.effect = "pixels per side of the square in the middle of the scaled image, which is the input",
             .at_least = 1,
             .at_most = 1024});
    field("shorter_side", shorter_side,
          Rule{.effect = "pixels to which the shorter side is scaled before that; null: side",
               .at_least = 1,
               .at_most = 2048});
    field("channels", channels, Rule{.effect = "3: colour; 1: grey", .at_least = 1, .at_most = 3});
    field("normalisation", normalisation,
          Rule{.effect = "mean and deviation per channel: of the training images, or those that models "
                         "trained on ImageNet expect",
               .one_of = {"own", "imagenet"}});
    field("augment", augment,
          Rule{.effect = "in each epoch, crop each training image at random after padding it with side / 8 "
                         "pixels of zeros, and mirror one in two"});
    field("test_folder", test_folder,
          Rule{.effect = "name of the folder of test images; null: test or val, whichever exists"});
    field("train_examples", train_examples,
          Rule{.effect = "use only the first n, which alternate between the classes; null: all",
               .at_least = 1});
    field("test_examples", test_examples,
          Rule{.effect = "use only the first n, which alternate between the classes; null: all",
               .at_least = 1});
  }
};

// Checks rules that concern several options or that no Rule can express.
void check(const ImageFolderOptions& options, const JsonObject& object) {
  if (options.directory.empty()) {
    throw InputError(object.place_of("directory"),
                     "must name a folder with images in train/CLASS/ and test/CLASS/");
  }
  if (options.channels == 2) throw InputError(object.place_of("channels"), "must be 1 or 3, but is 2");
  if (options.shorter_side && *options.shorter_side < options.side) {
    throw InputError(object.place_of("shorter_side"), fmt::format("must be at least side, {}, but is {}",
                                                                  options.side, *options.shorter_side));
  }
  if (options.normalisation == "imagenet" && options.channels != 3) {
    throw InputError(object.place_of("normalisation"), "is imagenet, which is for 3 channels: use own");
  }
}

void keep_first(std::vector<ImageFile>& files, const std::optional<std::int64_t>& count, const Place& place) {
  if (!count) return;
  if (*count > std::ssize(files)) {
    throw InputError(
        place, fmt::format("must be at most {}, the number of examples, but is {}", files.size(), *count));
  }
  files.resize(static_cast<std::size_t>(*count));
}

// Returns views of `count` images from number `first` on in the cache's file, which the tensor keeps mapped.
torch::Tensor images_of(const CachedImages& cached, const ImageForm& form, std::int64_t first,
                        std::int64_t count) {
  const std::uint8_t* const begin = cached.file->bytes().data() + first * form.image_bytes();
  // from_blob() needs a pointer that may be written to, but nothing writes to examples.
  return torch::from_blob(
      const_cast<std::uint8_t*>(begin), {count, form.channels, form.side, form.side},
      [file = cached.file](void* /*begin*/) {}, torch::kUInt8);
}

torch::Tensor labels_of(const std::vector<ImageFile>& files) {
  torch::Tensor labels = torch::empty({std::ssize(files)}, torch::kInt64);
  std::ranges::transform(files, labels.data_ptr<std::int64_t>(), &ImageFile::label);
  return labels;
}

class ImagesOfFolder : public ImageDataset {
 public:
  ImagesOfFolder(Parts parts, std::string content_hash)
      : ImageDataset(std::move(parts)), content_hash_(std::move(content_hash)) {}

  std::optional<std::string> known_content_hash() const override { return content_hash_; }

 private:
  std::string content_hash_;
};

std::unique_ptr<Dataset> read_image_folder(const ImageFolderOptions& options, const JsonObject& object) {
  ImageFolder folder = scan_image_folder(options.directory, options.test_folder);
  keep_first(folder.train, options.train_examples, object.place_of("train_examples"));
  keep_first(folder.test, options.test_examples, object.place_of("test_examples"));
  const ImageForm form{.shorter_side = options.shorter_side.value_or(options.side),
                       .side = options.side,
                       .channels = options.channels};
  const CachedImages cached = open_cached_images(cache_folder("images"), options.directory, folder, form);
  const std::int64_t train = std::ssize(folder.train);
  return std::make_unique<ImagesOfFolder>(
      ImageDataset::Parts{
          .train = {images_of(cached, form, 0, train), labels_of(folder.train)},
          .test = {images_of(cached, form, train, std::ssize(folder.test)), labels_of(folder.test)},
          .classes = std::ssize(folder.classes),
          .normalisation = options.normalisation == "imagenet" ? imagenet_normalisation()
                                                               : Normalisation(cached.mean, cached.deviation),
          .augmentation =
              options.augment
                  ? Augmentation{.crop_padding = std::max<std::int64_t>(1, form.side / 8), .flip = true}
                  : Augmentation{},
          .side = {}},
      cached.content_hash);
}

std::unique_ptr<Dataset> make_image_folder(JsonObject& object, Files files) {
  const auto options = read_options<ImageFolderOptions>(object);
  check(options, object);
  if (files == Files::outlined) return nullptr;
  try {
    return read_image_folder(options, object);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(
        object.place_of("directory"),
        fmt::format("must be a folder with images in train/CLASS/ and test/CLASS/: {}", error.what()));
  }
}

THINPIPE_REGISTER(Dataset){"image_folder", "JPEG and PNG files of your own, with a folder for each class",
                           describe_options<ImageFolderOptions>(), make_image_folder};

}  // namespace
}  // namespace thinpipe::trainer
