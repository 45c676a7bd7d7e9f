// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"
#include "trainer/datasets/cifar_file.hh"
#include "trainer/datasets/tests/files.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t pixels = 3 * 32 * 32;

// Returns a record whose pixels count up from `first`.
std::string record(const std::string& labels, int first) {
  std::string bytes = labels;
  for (std::int64_t i = 0; i < pixels; ++i) bytes += static_cast<char>((first + i) % 256);
  return bytes;
}

using CifarFile = DirectoryTest;

TEST_F(CifarFile, HoldsLabelsAndPlanesOfPixels) {
  const Examples examples = read_cifar_file(write("file.bin", record("\x03", 0) + record("\x09", 7)),
                                            {.classes = 10, .label_bytes = 1, .records = 2});
  EXPECT_EQ(examples.inputs.sizes(), (std::vector<std::int64_t>{2, 3, 32, 32}));
  EXPECT_TRUE(examples.labels.equal(torch::tensor({3, 9}, torch::kInt64)));
  // Pixel (y, x) of channel c is byte 1024 c + 32 y + x.
  EXPECT_EQ(examples.inputs[0][2][3][5].item<std::int64_t>(), (2 * 1024 + 3 * 32 + 5) % 256);
  EXPECT_EQ(examples.inputs[1][1][31][31].item<std::int64_t>(), (7 + 1024 + 1023) % 256);
}

TEST_F(CifarFile, OfTwoLabelsTheSecondIsTheClass) {
  const Examples examples = read_cifar_file(write("file.bin", record("\x13\x63", 0)),
                                            {.classes = 100, .label_bytes = 2, .records = 1});
  EXPECT_EQ(examples.labels[0].item<std::int64_t>(), 99);
  EXPECT_EQ(examples.inputs[0][0][0][1].item<std::int64_t>(), 1);
}

struct Set {
  std::string name;
  std::string folder;
  std::vector<std::string> train_files;
  std::string test_file;
  std::string python_file;
  std::string archive;
  std::string md5;
  std::int64_t classes;
  std::int64_t label_bytes;
};

const Set cifar10{
    "cifar10",
    "cifar-10-batches-bin",
    {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
    "test_batch.bin",
    "test_batch",
    "cifar-10-binary.tar.gz",
    "c32a1d4ab5d03f1284b67883e8d87530",
    10,
    1};
const Set cifar100{"cifar100",
                   "cifar-100-binary",
                   {"train.bin"},
                   "test.bin",
                   "test",
                   "cifar-100-binary.tar.gz",
                   "03b5dce01913d631647c71ecec9e9cb8",
                   100,
                   2};

class Cifar : public DirectoryTest, public ::testing::WithParamInterface<Set> {
 protected:
  Json options(const Json& more = Json::object()) const {
    Json out = {{"name", GetParam().name}, {"directory", path("set")}};
    out.update(more);
    return out;
  }

  // All black except the upper left pixel, which holds the class. Holes in the file keep this fast.
  void write_records(const std::string& name, std::int64_t records) const {
    const Set& set = GetParam();
    const std::int64_t size = set.label_bytes + pixels;
    std::filesystem::create_directories(path("set"));
    const FileDescriptor file = FileDescriptor::open(path("set/" + name), O_WRONLY | O_CREAT);
    ASSERT_EQ(ftruncate(file.get(), records * size), 0);
    for (std::int64_t i = 0; i < records; ++i) {
      const std::string label(1, static_cast<char>(i % set.classes));
      const std::string bytes = (set.label_bytes == 2 ? "\x05" : "") + label + label;
      ASSERT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), i * size), std::ssize(bytes));
    }
  }

  void write_set() const {
    const auto& files = GetParam().train_files;
    for (const std::string& name : files) write_records(name, 50000 / std::ssize(files));
    write_records(GetParam().test_file, 10000);
  }
};

TEST_P(Cifar, OfFullSizeIsRead) {
  write_set();
  const auto dataset = make_dataset(options({{"train_examples", 49999}, {"image_side", 48}}));
  EXPECT_EQ(dataset->train().inputs.sizes(), (std::vector<std::int64_t>{49999, 3, 32, 32}));
  EXPECT_EQ(dataset->test().size(), 10000);
  const std::int64_t classes = GetParam().classes;
  EXPECT_TRUE(dataset->train().labels.equal(torch::arange(49999).remainder(classes)));
  EXPECT_TRUE(dataset->train()
                  .inputs.select(1, 0)
                  .select(1, 0)
                  .select(1, 0)
                  .to(torch::kInt64)
                  .equal(dataset->train().labels));
  EXPECT_EQ(dataset->shape().classes, classes);
  EXPECT_EQ(dataset->augmentation().crop_padding, 4);
  EXPECT_TRUE(dataset->augmentation().flip);

  // prepare() scales images up.
  EXPECT_EQ(dataset->shape().channels, 3);
  EXPECT_EQ(dataset->shape().height, 48);
  EXPECT_EQ(dataset->shape().width, 48);
  const torch::Tensor prepared = dataset->prepare(dataset->train().inputs.narrow(0, 0, 2));
  EXPECT_EQ(prepared.sizes(), (std::vector<std::int64_t>{2, 3, 48, 48}));
  // A flat region keeps its value: black, normalised.
  const double black = GetParam().classes == 10 ? -0.4914 / 0.2470 : -0.5071 / 0.2673;
  EXPECT_NEAR(prepared[0][0][40][40].item<double>(), black, 1e-5);

  // One more label of one class, one fewer of another.
  const FileDescriptor file = FileDescriptor::open(path("set/" + GetParam().train_files.back()), O_WRONLY);
  ASSERT_EQ(pwrite(file.get(), "\x01", 1, GetParam().label_bytes - 1), 1);
  EXPECT_THAT(refusal(options()),
              AllOf(HasSubstr(path("set")), HasSubstr("of class 0, but the published set has "),
                    HasSubstr("the labels are damaged")));
}

TEST_P(Cifar, MissingSaysWhatIsMissingAndWhereToGetIt) {
  EXPECT_THAT(refusal(options()),
              AllOf(HasSubstr("experiment.json at /dataset/directory: must contain the binary files of "),
                    HasSubstr("open " + path("set/" + GetParam().train_files[0]) + ": No such file"),
                    HasSubstr("https://www.cs.toronto.edu/~kriz/" + GetParam().archive),
                    HasSubstr(GetParam().md5), HasSubstr("tar xzf " + GetParam().archive),
                    Not(HasSubstr("not unpacked")), Not(HasSubstr("Python"))));
}

TEST_P(Cifar, CutShortSaysWhatSizeItShouldHave) {
  write("set/" + GetParam().train_files[0], "too short");
  EXPECT_THAT(refusal(options()),
              HasSubstr(GetParam().classes == 10 ? "has 9 bytes, expected 30730000: 10000 records of 3073"
                                                 : "has 9 bytes, expected 153700000: 50000 records of 3074"));
}

TEST_P(Cifar, ArchiveThatIsNotUnpackedIsPointedOut) {
  for (const std::string folder : {"set/", ""}) {
    write(folder + GetParam().archive, "");
    EXPECT_THAT(refusal(options()), HasSubstr(path(folder + GetParam().archive) + " is not unpacked"));
    std::filesystem::remove(path(folder + GetParam().archive));
  }
}

TEST_P(Cifar, PicklesArePointedOut) {
  write("set/" + GetParam().python_file, "");
  EXPECT_THAT(refusal(options()),
              HasSubstr(path("set/" + GetParam().python_file) + " belongs to the Python version"));
}

TEST_P(Cifar, FolderBelowIsPointedOut) {
  const std::string folder = "set/" + GetParam().folder;
  write(folder + "/" + GetParam().test_file, "");
  EXPECT_THAT(refusal(options()), HasSubstr("they are in " + path(folder) + ": set directory to that"));
}

TEST_P(Cifar, OptionsAreChecked) {
  EXPECT_THAT(refusal(options({{"image_side", 31}})), HasSubstr("/dataset/image_side: must be at least 32"));
}

INSTANTIATE_TEST_SUITE_P(Sets, Cifar, ::testing::Values(cifar10, cifar100),
                         [](const auto& set) { return set.param.name; });

}  // namespace
}  // namespace thinpipe::trainer
