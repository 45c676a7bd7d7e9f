// SPDX-License-Identifier: Apache-2.0
// CIFAR-10 and CIFAR-100: 32 x 32 colour images of 10 or 100 kinds of objects, 50000 to train and 10000 to
// test. Krizhevsky: Learning Multiple Layers of Features from Tiny Images (2009).
#include <filesystem>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/datasets/cifar_file.hh"
#include "trainer/datasets/first_examples.hh"
#include "trainer/datasets/image_dataset.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t test_records = 10000;

struct CifarOptions {
  std::string directory;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;
  bool augment = true;
  std::optional<std::int64_t> image_side;

  void visit(auto& field) {
    field("directory", directory, Rule{.effect = "folder with the .bin files of the binary version"});
    field("train_examples", train_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("augment", augment,
          Rule{.effect = "in each epoch, crop each training image at random after padding it with 4 pixels "
                         "of zeros, and mirror one in two"});
    field("image_side", image_side,
          Rule{.effect = "scale images up to this many pixels per side, bilinearly, for models made for "
                         "224 x 224; null: 32",
               .at_least = cifar_side,
               .at_most = 1024});
  }
};

struct Cifar10Options : CifarOptions {
  Cifar10Options() { directory = "/usr/share/datasets/cifar-10-batches-bin"; }
};

struct Cifar100Options : CifarOptions {
  Cifar100Options() { directory = "/usr/share/datasets/cifar-100-binary"; }
};

struct Cifar {
  std::string title;
  CifarFormat train_format;  // of each training file
  std::vector<std::string> train_files;
  std::string test_file;
  std::string folder;   // the folder in the archive
  std::string archive;  // of the binary version
  std::string md5;      // of the archive
  std::string python_folder;
  std::string python_archive;
  Normalisation normalisation;
};

Cifar cifar10() {
  return {.title = "CIFAR-10",
          .train_format = {.classes = 10, .label_bytes = 1, .records = 10000},
          .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                          "data_batch_5.bin"},
          .test_file = "test_batch.bin",
          .folder = "cifar-10-batches-bin",
          .archive = "cifar-10-binary.tar.gz",
          .md5 = "c32a1d4ab5d03f1284b67883e8d87530",
          .python_folder = "cifar-10-batches-py",
          .python_archive = "cifar-10-python.tar.gz",
          .normalisation = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}};
}

// Each record has two labels: the coarse one of 20 and the fine one of 100.
Cifar cifar100() {
  return {.title = "CIFAR-100",
          .train_format = {.classes = 100, .label_bytes = 2, .records = 50000},
          .train_files = {"train.bin"},
          .test_file = "test.bin",
          .folder = "cifar-100-binary",
          .archive = "cifar-100-binary.tar.gz",
          .md5 = "03b5dce01913d631647c71ecec9e9cb8",
          .python_folder = "cifar-100-python",
          .python_archive = "cifar-100-python.tar.gz",
          .normalisation = {{0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}}};
}

// Returns why the files are missing and the remedy, judged by the other files there; "" if unknown.
std::string explain(const Cifar& cifar, const fs::path& directory) {
  const fs::path parent = (directory / "").parent_path().parent_path();
  if (fs::exists(directory / cifar.folder / cifar.test_file)) {
    return fmt::format("they are in {}: set directory to that folder; ", (directory / cifar.folder).string());
  }
  for (const fs::path& folder : {directory, parent}) {
    if (fs::exists(folder / cifar.archive)) {
      return fmt::format("{0} is not unpacked: run `tar xzf {0} -C {1}` and set directory to {1}/{2}; ",
                         (folder / cifar.archive).string(), folder.string(), cifar.folder);
    }
  }
  const std::string stem = fs::path(cifar.test_file).stem();  // the pickles have no extension
  for (const fs::path& found :
       {directory / stem, directory / cifar.python_folder, directory / cifar.python_archive,
        parent / cifar.python_folder, parent / cifar.python_archive}) {
    if (fs::exists(found)) {
      return fmt::format("{} belongs to the Python version, which is not supported; ", found.string());
    }
  }
  return "";
}

Examples read_files(const fs::path& directory, const std::vector<std::string>& names,
                    const CifarFormat& format) {
  std::vector<torch::Tensor> inputs;
  std::vector<torch::Tensor> labels;
  for (const std::string& name : names) {
    const Examples part = read_cifar_file(directory / name, format);
    inputs.push_back(part.inputs);
    labels.push_back(part.labels);
  }
  Examples all =
      names.size() == 1 ? Examples{inputs[0], labels[0]} : Examples{torch::cat(inputs), torch::cat(labels)};
  // In both sets, all classes have the same number of examples.
  check_class_counts(
      all.labels,
      std::vector<std::int64_t>(static_cast<std::size_t>(format.classes), all.size() / format.classes),
      names.size() == 1 ? directory / names[0] : directory);
  return all;
}

template <class Options>
std::unique_ptr<Dataset> make_cifar(const Cifar& cifar, JsonObject& object, Files files) {
  const auto options = read_options<Options>(object);
  const fs::path directory = fs::absolute(options.directory);
  const auto read = [&](const std::vector<std::string>& names, const CifarFormat& format) {
    if (files == Files::outlined) {
      return outlined_images(std::ssize(names) * format.records, cifar_channels, cifar_side, cifar_side);
    }
    try {
      return read_files(directory, names, format);
    } catch (const std::exception& error) {
      throw InputError(
          object.place_of("directory"),
          fmt::format("must contain the binary files of {}: {}; {}download "
                      "https://www.cs.toronto.edu/~kriz/{} (md5 {}), run `tar xzf {}` and set directory to "
                      "the folder {} it creates",
                      cifar.title, error.what(), explain(cifar, directory), cifar.archive, cifar.md5,
                      cifar.archive, cifar.folder));
    }
  };
  CifarFormat test_format = cifar.train_format;
  test_format.records = test_records;
  const Examples train = read(cifar.train_files, cifar.train_format);
  const Examples test = read({cifar.test_file}, test_format);
  return std::make_unique<ImageDataset>(ImageDataset::Parts{
      .train = first_examples(train, options.train_examples, object.place_of("train_examples")),
      .test = first_examples(test, options.test_examples, object.place_of("test_examples")),
      .classes = cifar.train_format.classes,
      .normalisation = cifar.normalisation,
      .augmentation = options.augment ? Augmentation{.crop_padding = 4, .flip = true} : Augmentation{},
      .side = options.image_side});
}

THINPIPE_REGISTER(Dataset){
    "cifar10", "32 x 32 colour images of 10 kinds of objects: 50000 to train, 10000 to test",
    describe_options<Cifar10Options>(),
    [](JsonObject& object, Files files) { return make_cifar<Cifar10Options>(cifar10(), object, files); }};

THINPIPE_REGISTER(Dataset){
    "cifar100", "32 x 32 colour images of 100 kinds of objects: 50000 to train, 10000 to test",
    describe_options<Cifar100Options>(),
    [](JsonObject& object, Files files) { return make_cifar<Cifar100Options>(cifar100(), object, files); }};

}  // namespace
}  // namespace thinpipe::trainer
