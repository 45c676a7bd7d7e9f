// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/content_hash.hh"
#include "trainer/datasets/tests/files.hh"
#include "trainer/tensors/safetensors.hh"
#include "trainer/tensors/tests/npy_file.hh"
#include "trainer/tensors/tests/zip_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string bytes_of(const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.contiguous();
  return {static_cast<const char*>(whole.data_ptr()), whole.nbytes()};
}

std::string npy_of(const torch::Tensor& tensor) {
  static const std::map<torch::ScalarType, std::string> types = {
      {torch::kUInt8, "|u1"}, {torch::kInt8, "|i1"}, {torch::kInt16, "<i2"},   {torch::kInt32, "<i4"},
      {torch::kInt64, "<i8"}, {torch::kHalf, "<f2"}, {torch::kFloat32, "<f4"}, {torch::kFloat64, "<f8"}};
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += std::to_string(size) + ", ";
  return testing::npy(types.at(tensor.scalar_type()), "(" + shape + ")", bytes_of(tensor));
}

const TensorMap image_arrays = {
    {"train_inputs", torch::arange(5 * 3 * 4 * 2).view({5, 3, 4, 2}).to(torch::kUInt8)},
    {"train_labels", torch::tensor({0, 2, 1, 1, 0}, torch::kInt32)},
    {"test_inputs", torch::arange(200, 200 + 2 * 3 * 4 * 2).view({2, 3, 4, 2}).to(torch::kUInt8)},
    {"test_labels", torch::tensor({3, 0}, torch::kInt32)}};

class Tensors : public DirectoryTest {
 protected:
  // Writes the arrays as .npy files and returns the data set's options. Each call has its own folder, because
  // data sets leave their arrays in the files.
  Json npy(const TensorMap& arrays, const Json& more = Json::object()) {
    const std::string folder = "npy" + std::to_string(folders_++);
    for (const auto& [name, array] : arrays) write(folder + "/" + name + ".npy", npy_of(array));
    return options(folder, more);
  }

  Json options(const std::string& name, const Json& more = Json::object()) const {
    Json out = {{"name", "tensors"}, {"path", path(name)}};
    out.update(more);
    return out;
  }

 private:
  int folders_ = 0;
};

TensorMap with(TensorMap arrays, const std::string& name, const torch::Tensor& array) {
  arrays[name] = array;
  return arrays;
}

TEST_F(Tensors, AreImagesAsStored) {
  const auto dataset = make_dataset(npy(image_arrays));
  EXPECT_EQ(dataset->shape().channels, 3);
  EXPECT_EQ(dataset->shape().height, 4);
  EXPECT_EQ(dataset->shape().width, 2);
  EXPECT_EQ(dataset->shape().classes, 4) << "the largest label, of the test set, plus 1";
  EXPECT_TRUE(dataset->train().inputs.equal(image_arrays.at("train_inputs")));
  EXPECT_TRUE(dataset->train().labels.equal(image_arrays.at("train_labels").to(torch::kInt64)));
  EXPECT_TRUE(dataset->test().inputs.equal(image_arrays.at("test_inputs")));
  EXPECT_EQ(dataset->test().size(), 2);
  EXPECT_TRUE(dataset->augmentation().is_none());
  EXPECT_FALSE(dataset->sources().defined());
}

TEST_F(Tensors, AreTheSameInEveryFormat) {
  const std::string hash = content_hash(*make_dataset(npy(image_arrays)));
  write_safetensors(image_arrays, path("x.safetensors"));
  EXPECT_EQ(content_hash(*make_dataset(options("x.safetensors"))), hash);
  for (const bool deflate : {false, true}) {
    std::vector<testing::ZipContent> members;
    for (const auto& [name, array] : image_arrays) members.push_back({name + ".npy", npy_of(array), deflate});
    write("x.npz", testing::zip(members));
    EXPECT_EQ(content_hash(*make_dataset(options("x.npz"))), hash);
  }
  // Several files of different formats in one folder.
  write("mixed/a.npz", testing::zip({{"train_inputs.npy", npy_of(image_arrays.at("train_inputs"))},
                                     {"train_labels.npy", npy_of(image_arrays.at("train_labels")), true}}));
  write("mixed/test_inputs.npy", npy_of(image_arrays.at("test_inputs")));
  write_safetensors({{"test_labels", image_arrays.at("test_labels")}}, path("mixed/b.safetensors"));
  write("mixed/README.md", "not an array");
  EXPECT_EQ(content_hash(*make_dataset(options("mixed"))), hash);
  EXPECT_NE(content_hash(*make_dataset(npy(with(image_arrays, "test_labels", torch::tensor({3, 1}))))), hash);
}

TEST_F(Tensors, OfOtherLayoutsAreTheSameImages) {
  const Json given = {{"normalisation", "none"}};
  const auto dataset = make_dataset(npy(image_arrays, given));
  TensorMap channels_last = image_arrays;
  for (const char* name : {"train_inputs", "test_inputs"}) {
    channels_last[name] = channels_last[name].permute({0, 2, 3, 1}).contiguous();
  }
  const auto last = make_dataset(npy(channels_last, {{"normalisation", "none"}, {"layout", "nhwc"}}));
  EXPECT_EQ(last->shape().channels, 3);
  EXPECT_EQ(last->shape().width, 2);
  EXPECT_EQ(content_hash(*last), content_hash(*dataset));
  const torch::Tensor prepared = last->prepare(last->train().inputs.narrow(0, 1, 2));
  EXPECT_TRUE(prepared.is_contiguous());
  EXPECT_TRUE(prepared.equal(dataset->prepare(dataset->train().inputs.narrow(0, 1, 2))));

  TensorMap grey = image_arrays;
  for (const char* name : {"train_inputs", "test_inputs"}) grey[name] = grey[name].select(1, 0).contiguous();
  EXPECT_EQ(make_dataset(npy(grey, {{"layout", "nhw"}}))->shape().channels, 1);
  EXPECT_THAT(refusal(npy(grey)), HasSubstr("train_inputs is Byte [5, 4, 2]: set layout to nhw"));
}

TEST_F(Tensors, AreNormalisedByTheTrainingSet) {
  const auto dataset = make_dataset(npy(image_arrays));
  const torch::Tensor all = dataset->prepare(dataset->train().inputs).to(torch::kFloat64);
  EXPECT_TRUE(all.mean(std::vector<std::int64_t>{0, 2, 3}).abs().max().item<double>() < 1e-6);
  EXPECT_TRUE((all.square().mean(std::vector<std::int64_t>{0, 2, 3}) - 1).abs().max().item<double>() < 1e-6);
  const auto plain = make_dataset(npy(image_arrays, {{"normalisation", "none"}}));
  EXPECT_TRUE(plain->prepare(plain->test().inputs)
                  .allclose(image_arrays.at("test_inputs").to(torch::kFloat32) / 255, 1e-6, 0));
  const auto given = make_dataset(
      npy(image_arrays,
          {{"normalisation", "given"}, {"mean", {0.5, 0, 1}}, {"standard_deviation", {0.25, 1, 2}}}));
  const torch::Tensor pixel = given->prepare(given->test().inputs)[0].select(1, 0).select(1, 0);
  EXPECT_NEAR(pixel[0].item<double>(), (200.0 / 255 - 0.5) / 0.25, 1e-6);
  EXPECT_NEAR(pixel[1].item<double>(), 208.0 / 255, 1e-6);
  EXPECT_NEAR(pixel[2].item<double>(), (216.0 / 255 - 1) / 2, 1e-6);
}

TEST_F(Tensors, MayBeVectorsOfFloats) {
  for (const torch::ScalarType type : {torch::kHalf, torch::kFloat32, torch::kFloat64}) {
    const torch::Tensor train = torch::tensor({{1.0, 5.0}, {3.0, 5.0}, {5.0, 5.0}}).to(type);
    const Json written = npy({{"train_inputs", train},
                              {"train_labels", torch::tensor({0, 1, 0}).to(torch::kUInt8)},
                              {"test_inputs", train.narrow(0, 0, 1).clone()},
                              {"test_labels", torch::tensor({1}).to(torch::kInt8)}});
    const auto dataset = make_dataset(written);
    EXPECT_EQ(dataset->shape().features, 2);
    EXPECT_EQ(dataset->shape().classes, 2);
    EXPECT_TRUE(dataset->shape().has_vectors());
    EXPECT_FALSE(dataset->shape().is_text());
    const torch::Tensor prepared = dataset->prepare(dataset->train().inputs);
    const double scaled = 2 / std::sqrt(8.0 / 3);
    EXPECT_TRUE(prepared.allclose(
        torch::tensor({{-scaled, 0.0}, {0.0, 0.0}, {scaled, 0.0}}).to(torch::kFloat32), 1e-6, 1e-6))
        << prepared;
    EXPECT_TRUE(dataset->train().inputs.equal(train)) << "not changed in place: it lies in the file";
  }
}

TEST_F(Tensors, MayBeTextWithALabelPerToken) {
  const torch::Tensor tokens = torch::tensor({{1, 2, 3}, {4, 5, 6}}, torch::kInt16);
  const TensorMap arrays = {{"train_inputs", tokens},
                            {"train_labels", tokens + 1},
                            {"test_inputs", tokens},
                            {"test_labels", tokens * 3}};
  const auto dataset = make_dataset(npy(arrays));
  EXPECT_TRUE(dataset->shape().is_text());
  EXPECT_EQ(dataset->shape().sequence_length, 3);
  EXPECT_EQ(dataset->shape().classes, 19);
  EXPECT_EQ(dataset->prepare(dataset->train().inputs).scalar_type(), torch::kInt64);
  EXPECT_EQ(make_dataset(npy(arrays, {{"classes", 50257}}))->shape().classes, 50257);
  EXPECT_THAT(
      refusal(npy(arrays, {{"classes", 18}})),
      HasSubstr("/dataset/classes: does not fit the arrays: test_labels has the label 18 in example 1, "
                "expected 0 to 17"));
  EXPECT_THAT(refusal(npy(with(arrays, "train_inputs", tokens - 2))),
              HasSubstr("train_inputs has the token -1 in example 0, expected 0 to 18"));
}

TEST_F(Tensors, MayBeSequencesWithOneLabelEach) {
  const torch::Tensor tokens = torch::tensor({{1, 2, 3}, {4, 5, 6}}, torch::kInt64);
  const auto dataset = make_dataset(npy({{"train_inputs", tokens},
                                         {"train_labels", torch::tensor({0, 1})},
                                         {"test_inputs", tokens + 3},
                                         {"test_labels", torch::tensor({2, 1})}}));
  EXPECT_FALSE(dataset->shape().is_text());
  EXPECT_TRUE(dataset->shape().has_sequences_with_a_class());
  EXPECT_EQ(dataset->shape().vocabulary, 10);
  EXPECT_EQ(dataset->shape().classes, 3);
}

TEST_F(Tensors, MayHaveOtherNamesAndSourcesAndBeLimited) {
  TensorMap arrays = image_arrays;
  arrays["x"] = arrays["train_inputs"];
  arrays.erase("train_inputs");
  arrays["writers"] = torch::tensor({7, 7, 8, 9, 9}, torch::kInt16);
  const auto dataset = make_dataset(npy(arrays, {{"train_inputs", "x"},
                                                 {"train_sources", "writers"},
                                                 {"train_examples", 3},
                                                 {"test_examples", 1},
                                                 {"classes", 10}}));
  EXPECT_EQ(dataset->train().size(), 3);
  EXPECT_EQ(dataset->test().size(), 1);
  EXPECT_EQ(dataset->shape().classes, 10);
  EXPECT_TRUE(dataset->sources().equal(torch::tensor({7, 7, 8}, torch::kInt64)));
  EXPECT_THAT(
      refusal(npy(arrays, {{"train_inputs", "y"}})),
      AllOf(HasSubstr("experiment.json at /dataset/path: must lead to the arrays of the data set"),
            HasSubstr("has no array \"y\", only test_inputs, test_labels, train_labels, writers, x")));
  EXPECT_THAT(refusal(npy(arrays, {{"train_inputs", "x"}, {"train_sources", "test_labels"}})),
              HasSubstr("test_labels is Int [2], but must have one integer for each of 5 training examples"));
  EXPECT_THAT(refusal(npy(arrays, {{"train_inputs", "x"}, {"train_examples", 6}})),
              HasSubstr("/dataset/train_examples: must be at most 5"));
}

struct WrongArray {
  std::string name;
  torch::Tensor array;
  std::string message;
};

TEST_F(Tensors, AreCheckedWholly) {
  const auto images = [](const std::vector<std::int64_t>& sizes) {
    return torch::zeros(sizes, torch::kUInt8);
  };
  const std::vector<WrongArray> cases = {
      {"train_labels", torch::tensor({0, 1, 2, 3}),
       "train_labels is Long [4], but must have one label for each "
       "example of train_inputs, which is Byte [5, 3, 4, 2]"},
      {"train_labels", torch::zeros({5, 1}, torch::kInt64), "but must have one label for each example"},
      {"train_labels", torch::zeros({5}), "train_labels is Float [5], but must be of integers"},
      {"train_labels", torch::tensor({0, 1, -1, 3, 0}),
       "train_labels has the label -1 in example 2, expected 0 to 3"},
      {"test_inputs", images({2, 3, 2, 4}), "must have the same type and the same sizes after the first"},
      {"test_inputs", torch::zeros({2, 3, 4, 2}), "must have the same type"},
      {"train_inputs", torch::zeros({5, 3, 4, 2}, torch::kInt32), "it must be of floats or uint8"},
      {"train_inputs", images({0, 3, 4, 2}), "it must have elements"},
      {"train_inputs", images({5}), "otherwise inputs must have four dimensions"}};
  for (const WrongArray& wrong : cases) {
    EXPECT_THAT(refusal(npy(with(image_arrays, wrong.name, wrong.array))), HasSubstr(wrong.message));
  }
  TensorMap floats = image_arrays;
  for (const char* name : {"train_inputs", "test_inputs"}) floats[name] = floats[name].to(torch::kFloat32);
  floats["test_inputs"][1][2][3][0] = NAN;
  EXPECT_THAT(refusal(npy(floats)),
              HasSubstr("test_inputs has a number that is NaN or infinite in example 1"));
}

TEST_F(Tensors, SayWhatIsWrongWithOptionsAndFiles) {
  EXPECT_THAT(refusal({{"name", "tensors"}}), HasSubstr("/dataset: \"path\" is missing"));
  EXPECT_THAT(
      refusal(npy(image_arrays, {{"layout", "nhwc"}, {"mean", {1}}})),
      HasSubstr("/dataset/normalisation: must be given, because mean or standard_deviation are given"));
  EXPECT_THAT(refusal(npy(image_arrays, {{"normalisation", "given"}, {"mean", {1}}})),
              HasSubstr("/dataset/mean: must have 3 numbers, one per channel or feature, but has 1"));
  EXPECT_THAT(refusal(npy(image_arrays, {{"layout", "tokens"}})), HasSubstr("it must have 2 dimensions"));
  EXPECT_THAT(refusal(options("nowhere")), HasSubstr("nowhere: must end in .safetensors, .npz or .npy"));
  EXPECT_THAT(refusal(options("nowhere.npz")), HasSubstr("open " + path("nowhere.npz") + ": No such file"));
  std::filesystem::create_directory(path("hollow"));
  EXPECT_THAT(refusal(options("hollow")), HasSubstr("hollow contains no .safetensors, .npz or .npy files"));
  write("odd/train_inputs.npy", "\x93NUMPY, or not");
  EXPECT_THAT(refusal(options("odd")), HasSubstr(path("odd/train_inputs.npy") + ": has version"));
  write("twice/a.npy", npy_of(torch::zeros({1})));
  write("twice/b.npz", testing::zip({{"a.npy", npy_of(torch::zeros({1}))}}));
  EXPECT_THAT(refusal(options("twice")), HasSubstr("b.npz both have an array \"a\""));
  write("odd.npz", testing::zip({{"a.txt", "text"}}));
  EXPECT_THAT(refusal(options("odd.npz")), HasSubstr("member a.txt is not a .npy file"));
}

TEST_F(Tensors, AreNothingWithoutTheirFiles) {
  EXPECT_EQ(
      DatasetRegistry::instance().make(options("nowhere"), {"experiment.json", "/dataset"}, Files::outlined),
      nullptr);
}

// Elements at an odd position, as in files of other writers of safetensors, cannot be used where they lie.
TEST_F(Tensors, NeedNotBeAligned) {
  TensorMap floats = image_arrays;
  for (const char* name : {"train_inputs", "test_inputs"}) floats[name] = floats[name].to(torch::kFloat32);
  std::string header = "{";
  std::string elements = "x";
  header += R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  for (const auto& [name, array] : floats) {
    std::string sizes;
    for (const std::int64_t size : array.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    header += ",\"" + name + R"(":{"dtype":")" + (array.is_floating_point() ? "F32" : "I32") +
              R"(","shape":[)" + sizes + R"(],"data_offsets":[)" + std::to_string(elements.size()) + ",";
    elements += bytes_of(array);
    header += std::to_string(elements.size()) + "]}";
  }
  header += "}";
  write("odd.safetensors", testing::little_endian(header.size(), 8) + header + elements);
  EXPECT_EQ(content_hash(*make_dataset(options("odd.safetensors"))),
            content_hash(*make_dataset(npy(floats))));
}

}  // namespace
}  // namespace thinpipe::trainer
