// SPDX-License-Identifier: Apache-2.0
// The user's own arrays, from files of NumPy or safetensors: images, vectors of numbers, or sequences of
// tokens. They stay in the files, from where batches are read, and may be larger than memory.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_map.hh"
#include "trainer/datasets/array_scan.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/first_examples.hh"
#include "trainer/datasets/normalisation.hh"
#include "trainer/tensors/arrays.hh"

namespace thinpipe::trainer {
namespace {

struct TensorsOptions {
  std::string path;
  std::string layout = "auto";
  std::string train_inputs = "train_inputs";
  std::string train_labels = "train_labels";
  std::string test_inputs = "test_inputs";
  std::string test_labels = "test_labels";
  std::optional<std::string> train_sources;
  std::optional<std::int64_t> classes;
  std::string normalisation = "training_set";
  std::vector<double> mean;
  std::vector<double> standard_deviation;
  std::optional<std::int64_t> train_examples;
  std::optional<std::int64_t> test_examples;

  void visit(auto& field) {
    field("path", path,
          Rule{.effect = "a .safetensors or .npz file, or a folder of .npy, .npz and .safetensors files",
               .required = true});
    field("layout", layout,
          Rule{.effect = "dimensions of the inputs; auto: nchw if there are four, features for floats and "
                         "tokens for integers if there are two; features are vectors of numbers",
               .one_of = {"auto", "nchw", "nhwc", "nhw", "features", "tokens"}});
    field("train_inputs", train_inputs, Rule{.effect = "name of the array of training inputs"});
    field("train_labels", train_labels,
          Rule{.effect = "name of the array of training labels: integers, one per example or per token"});
    field("test_inputs", test_inputs, Rule{.effect = "name of the array of test inputs"});
    field("test_labels", test_labels, Rule{.effect = "name of the array of test labels"});
    field(
        "train_sources", train_sources,
        Rule{.effect = "name of an array with the source of each training example, such as the number of its "
                       "writer, for the partition by_source; null: none"});
    field("classes", classes,
          Rule{.effect = "number of classes; null: the largest label + 1", .at_least = 2});
    field(
        "normalisation", normalisation,
        Rule{.effect = "training_set: subtract the training set's mean and divide by its standard deviation, "
                       "per channel or feature; given: the same with mean and standard_deviation; none: use "
                       "inputs as they are, bytes scaled to [0, 1]",
             .one_of = {"training_set", "given", "none"}});
    field("mean", mean,
          Rule{.effect =
                   "for normalisation given: one number per channel or feature, of bytes scaled to [0, 1] "
                   "or of floats as stored"});
    field("standard_deviation", standard_deviation,
          Rule{.effect = "for normalisation given: one number per channel or feature", .above = 0});
    field("train_examples", train_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
    field("test_examples", test_examples, Rule{.effect = "use only the first n; null: all", .at_least = 1});
  }
};

bool is_float(const torch::Tensor& array) {
  return torch::isFloatingType(array.scalar_type());
}

bool is_integer(const torch::Tensor& array) {
  return torch::isIntegralType(array.scalar_type(), /*includeBool=*/false);
}

// Returns the layout that "auto" stands for, for these inputs.
std::string resolve_layout(const std::string& layout, const torch::Tensor& inputs, const std::string& name) {
  if (layout != "auto") return layout;
  if (inputs.dim() == 4) return "nchw";
  if (inputs.dim() == 2) return is_float(inputs) ? "features" : "tokens";
  throw Error(
      fmt::format("{} is {}: set layout to nhw if these are images of one channel; otherwise inputs must "
                  "have four dimensions (images) or two (vectors or tokens)",
                  name, describe_tensor(inputs)));
}

// Returns the inputs as [n, channels, height, width], [n, features] or [n, tokens], without copying them.
torch::Tensor arrange(const torch::Tensor& inputs, const std::string& layout, const std::string& name) {
  const std::int64_t dimensions = layout == "nhw" ? 3 : layout == "features" || layout == "tokens" ? 2 : 4;
  const auto fail = [&](const std::string& rule) {
    throw Error(
        fmt::format("{} is {}, but with layout {} it must {}", name, describe_tensor(inputs), layout, rule));
  };
  if (inputs.dim() != dimensions) fail(fmt::format("have {} dimensions", dimensions));
  if (inputs.numel() == 0) fail("have elements");
  if (layout == "tokens") {
    if (!is_integer(inputs)) fail("be of integers");
    return inputs;
  }
  if (!is_float(inputs) && inputs.scalar_type() != torch::kUInt8) fail("be of floats or uint8");
  if (layout == "nhw") return inputs.unsqueeze(1);
  if (layout == "nhwc") return inputs.permute({0, 3, 1, 2});
  return inputs;
}

// Reads the arrays of one part and checks that they belong together.
Examples read_part(const Arrays& arrays, const std::string& inputs_name, const std::string& labels_name,
                   std::string& layout) {
  const torch::Tensor stored = arrays.load(inputs_name);
  torch::Tensor labels = arrays.load(labels_name);
  layout = resolve_layout(layout, stored, inputs_name);
  const torch::Tensor inputs = arrange(stored, layout, inputs_name);
  if (!is_integer(labels)) {
    throw Error(fmt::format("{} is {}, but must be of integers", labels_name, describe_tensor(labels)));
  }
  const bool per_token = layout == "tokens" && labels.dim() == 2;
  if (per_token ? labels.sizes() != inputs.sizes() : labels.dim() != 1 || labels.size(0) != inputs.size(0)) {
    throw Error(fmt::format("{} is {}, but must have one label for each example{} of {}, which is {}",
                            labels_name, describe_tensor(labels), layout == "tokens" ? " or each token" : "",
                            inputs_name, describe_tensor(stored)));
  }
  if (is_float(inputs)) check_finite(inputs, inputs_name);
  if (!per_token) labels = labels.to(torch::kInt64);
  return {inputs, labels};
}

// Throws Error unless the values are 0 to `largest`. what: "label" or "token".
void check_range(const torch::Tensor& integers, std::int64_t largest, const std::string& name,
                 const char* what) {
  const Range range = range_of(integers);
  if (range.least >= 0 && range.largest <= largest) return;
  throw Error(fmt::format("{} has the {} {} in example {}, expected 0 to {}", name, what,
                          range.least < 0 ? range.least : range.largest, row_outside(integers, {0, largest}),
                          largest));
}

struct TensorsParts {
  std::string layout;
  Examples train;
  Examples test;
  torch::Tensor sources;
};

class Tensors : public Dataset {
 public:
  Tensors(TensorsParts parts, const DataShape& shape, std::optional<Normalisation> normalisation)
      : parts_(std::move(parts)), shape_(shape), normalisation_(std::move(normalisation)) {}

  DataShape shape() const override { return shape_; }
  const Examples& train() const override { return parts_.train; }
  const Examples& test() const override { return parts_.test; }
  torch::Tensor sources() const override { return parts_.sources; }

  torch::Tensor prepare(const torch::Tensor& inputs) const override {
    if (!normalisation_) return inputs.to(torch::kInt64);
    if (shape_.has_vectors()) return (*normalisation_)(inputs.unsqueeze(2).unsqueeze(3)).flatten(1);
    return (*normalisation_)(inputs).contiguous();  // images may be stored channel by channel or not
  }

 private:
  TensorsParts parts_;
  DataShape shape_;
  std::optional<Normalisation> normalisation_;  // nullopt: tokens
};

class TensorsReader {
 public:
  TensorsReader(const TensorsOptions& options, const JsonObject& object)
      : options_(options), object_(object) {}

  std::unique_ptr<Dataset> read() const {
    TensorsParts parts = read_parts();
    limit(parts);
    const DataShape shape = find_shape(parts);
    std::optional<Normalisation> normalisation = make_normalisation(parts);
    return std::make_unique<Tensors>(std::move(parts), shape, std::move(normalisation));
  }

 private:
  TensorsParts read_parts() const {
    try {
      const Arrays arrays(options_.path);
      TensorsParts parts{.layout = options_.layout, .train = {}, .test = {}, .sources = {}};
      parts.train = read_part(arrays, options_.train_inputs, options_.train_labels, parts.layout);
      parts.test = read_part(arrays, options_.test_inputs, options_.test_labels, parts.layout);
      check_alike(parts);
      if (options_.train_sources) parts.sources = read_sources(arrays, parts.train.size());
      return parts;
    } catch (const std::exception& error) {
      throw InputError(object_.place_of("path"),
                       fmt::format("must lead to the arrays of the data set: {}", error.what()));
    }
  }

  void check_alike(const TensorsParts& parts) const {
    const Examples& train = parts.train;
    const Examples& test = parts.test;
    if (train.inputs.sizes().slice(1) == test.inputs.sizes().slice(1) &&
        train.inputs.scalar_type() == test.inputs.scalar_type() && train.labels.dim() == test.labels.dim()) {
      return;
    }
    throw Error(
        fmt::format("{} and {} must have the same type and the same sizes after the first, and their "
                    "labels the same number of dimensions, but are {} and {}",
                    options_.train_inputs, options_.test_inputs, describe_tensor(train.inputs),
                    describe_tensor(test.inputs)));
  }

  torch::Tensor read_sources(const Arrays& arrays, std::int64_t count) const {
    const torch::Tensor sources = arrays.load(*options_.train_sources);
    if (is_integer(sources) && sources.dim() == 1 && sources.size(0) == count)
      return sources.to(torch::kInt64);
    throw Error(fmt::format("{} is {}, but must have one integer for each of {} training examples",
                            *options_.train_sources, describe_tensor(sources), count));
  }

  void limit(TensorsParts& parts) const {
    parts.train = first_examples(parts.train, options_.train_examples, object_.place_of("train_examples"));
    parts.test = first_examples(parts.test, options_.test_examples, object_.place_of("test_examples"));
    if (parts.sources.defined()) parts.sources = parts.sources.narrow(0, 0, parts.train.size());
  }

  DataShape find_shape(const TensorsParts& parts) const {
    const torch::Tensor& inputs = parts.train.inputs;
    DataShape shape{.classes = count_classes(parts)};
    if (parts.layout == "features") {
      shape.features = inputs.size(1);
    } else if (parts.layout == "tokens") {
      shape.sequence_length = inputs.size(1);
      if (parts.train.labels.dim() == 1) shape.vocabulary = largest_token(parts) + 1;
    } else {
      shape.channels = inputs.size(1);
      shape.height = inputs.size(2);
      shape.width = inputs.size(3);
    }
    return shape;
  }

  static std::int64_t largest_token(const TensorsParts& parts) {
    return std::max(range_of(parts.train.inputs).largest, range_of(parts.test.inputs).largest);
  }

  // Also checks labels and tokens.
  std::int64_t count_classes(const TensorsParts& parts) const {
    const bool is_text = parts.train.labels.dim() == 2;
    std::int64_t largest = 1;
    if (options_.classes) {
      largest = *options_.classes - 1;
    } else {
      for (const Examples* part : {&parts.train, &parts.test}) {
        largest = std::max(largest, range_of(part->labels).largest);
      }
      if (is_text) largest = std::max(largest, largest_token(parts));
    }
    try {
      check_range(parts.train.labels, largest, options_.train_labels, "label");
      check_range(parts.test.labels, largest, options_.test_labels, "label");
      if (parts.layout == "tokens") {
        const std::int64_t last_token = is_text ? largest : largest_token(parts);
        check_range(parts.train.inputs, last_token, options_.train_inputs, "token");
        check_range(parts.test.inputs, last_token, options_.test_inputs, "token");
      }
    } catch (const Error& error) {
      throw InputError(object_.place_of(options_.classes ? "classes" : "path"),
                       fmt::format("does not fit the arrays: {}", error.what()));
    }
    return largest + 1;
  }

  std::optional<Normalisation> make_normalisation(const TensorsParts& parts) const {
    const torch::Tensor& inputs = parts.train.inputs;
    const bool is_given = options_.normalisation == "given";
    if (!is_given && (!options_.mean.empty() || !options_.standard_deviation.empty())) {
      throw InputError(
          object_.place_of("normalisation"),
          "must be given, because mean or standard_deviation are given, but is " + options_.normalisation);
    }
    if (parts.layout == "tokens") {
      if (!is_given) return std::nullopt;
      throw InputError(object_.place_of("normalisation"),
                       "must not be given for tokens, which are not numbers");
    }
    const auto channels = static_cast<std::size_t>(inputs.size(1));
    const double unit = is_float(inputs) ? 1 : 255;
    Moments moments{std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
    if (is_given) {
      moments = {options_.mean, options_.standard_deviation};
      check_given("mean", moments.mean, channels);
      check_given("standard_deviation", moments.standard_deviation, channels);
    } else if (options_.normalisation == "training_set") {
      moments = channel_moments(parts.layout == "features" ? inputs.unsqueeze(2).unsqueeze(3) : inputs, unit);
    }
    return Normalisation(moments.mean, moments.standard_deviation, unit);
  }

  void check_given(const char* key, const std::vector<double>& numbers, std::size_t channels) const {
    if (numbers.size() == channels) return;
    throw InputError(object_.place_of(key),
                     fmt::format("must have {} numbers, one per channel or feature, but has {}", channels,
                                 numbers.size()));
  }

  const TensorsOptions& options_;
  const JsonObject& object_;
};

std::unique_ptr<Dataset> make_tensors(JsonObject& object, Files files) {
  const auto options = read_options<TensorsOptions>(object);
  if (files == Files::outlined) return nullptr;
  return TensorsReader(options, object).read();
}

THINPIPE_REGISTER(Dataset){"tensors",
                           "your own arrays, from files of NumPy or safetensors: images, vectors or tokens",
                           describe_options<TensorsOptions>(), make_tensors};

}  // namespace
}  // namespace thinpipe::trainer
