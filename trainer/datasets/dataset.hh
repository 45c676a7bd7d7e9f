// SPDX-License-Identifier: Apache-2.0
// Labelled examples, in memory or mapped into it: images, vectors of numbers or sequences with a class each, or
// text whose tokens have a label each, such as the token that follows.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// The shape that a model must fit: images of channels x height x width, vectors of `features` numbers, or
// sequences of sequence_length tokens. Labels are 0..classes-1. The sizes of other kinds of data are 0.
// bytes_per_token is the mean over the test text; nullopt if it is unknown, or for other data.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  std::int64_t sequence_length = 0;
  std::int64_t features = 0;
  // Tokens are 0..vocabulary-1 in sequences that have one label each; 0 for text, whose tokens are 0..classes-1
  // and have a label each.
  std::int64_t vocabulary = 0;
  std::optional<double> bytes_per_token = {};

  bool is_text() const { return sequence_length > 0 && vocabulary == 0; }
  bool has_sequences_with_a_class() const { return vocabulary > 0; }
  bool has_vectors() const { return features > 0; }
};

// Examples as stored; most data sets store bytes.
struct Examples {
  // [n, channels, height, width], [n, features] or [n, sequence_length]
  torch::Tensor inputs;
  torch::Tensor labels;  // integers [n]; for text [n, sequence_length]

  std::int64_t size() const { return labels.size(0); }
};

// Random changes of each training example, drawn again in each epoch; see augmentation.hh.
struct Augmentation {
  std::int64_t crop_padding = 0;  // zeros added on each side before a crop of the original size, in pixels
  bool flip = false;              // mirrors one example in two, left to right

  bool is_none() const { return crop_padding == 0 && !flip; }
};

class Dataset {
 public:
  Dataset() = default;
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  Dataset(Dataset&&) = delete;
  Dataset& operator=(Dataset&&) = delete;

  virtual DataShape shape() const = 0;
  virtual const Examples& train() const = 0;
  virtual const Examples& test() const = 0;

  // Returns inputs for a model. Images: float32 [n, c, h, w], scaled to [0, 1], then normalised per channel
  // with the data set's mean and standard deviation. Vectors: float32 [n, features]. Text and other sequences:
  // int64 [n, sequence_length].
  virtual torch::Tensor prepare(const torch::Tensor& inputs) const = 0;

  // Returns labels for a loss: int64, in the same shape.
  virtual torch::Tensor prepare_labels(const torch::Tensor& labels) const { return labels.to(torch::kInt64); }

  // Returns a hash of the content if one is known without reading all examples.
  virtual std::optional<std::string> known_content_hash() const { return std::nullopt; }

  // Only for images of bytes.
  virtual Augmentation augmentation() const { return {}; }

  // Returns the source of each training example, such as a file or a speaker, for the partition by_source:
  // int64 [n], equal for examples of one source; undefined if sources are unknown.
  virtual torch::Tensor sources() const { return {}; }
};

// The data are not on this machine. The message says how to get them.
class MissingData : public InputError {
 public:
  using InputError::InputError;
};

enum class Files {
  read,      // reads the files, which must be complete
  outlined,  // reads no files: tensors have the published sizes and no content
};

// {"name": "fashion_mnist", …}. With Files::outlined, returns null if the sizes are known from files only.
using DatasetRegistry = Registry<Dataset, Files>;
using DatasetRegistration = Registration<Dataset, Files>;

}  // namespace thinpipe::trainer
