// Labelled examples, whole in memory: images with a class each, or text with the byte that follows each byte.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// What a model must fit: images of channels x height x width, or sequences of sequence_length tokens, and
// labels 0..classes-1. Of text, channels, height and width are 0; of images, sequence_length is.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  std::int64_t sequence_length = 0;

  bool is_text() const { return sequence_length > 0; }
};

// As they lie in memory: bytes.
struct Examples {
  torch::Tensor inputs;  // uint8 [n, channels, height, width], or of text [n, sequence_length]
  torch::Tensor labels;  // uint8 or int64 [n], or of text [n, sequence_length]

  std::int64_t size() const { return labels.size(0); }
};

// What is drawn anew for each training example in each epoch; see augmentation.hh.
struct Augmentation {
  std::int64_t crop_padding = 0;  // pixels of zeros on each side, out of which a crop of the old size is cut
  bool flip = false;              // left and right change places, for one example in two

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

  // Inputs as a model takes them. Images: float32 [n, c, h, w], scaled to [0, 1], then normalised per channel
  // with the data set's own mean and standard deviation. Text: int64 [n, sequence_length].
  virtual torch::Tensor prepare(const torch::Tensor& inputs) const = 0;

  virtual Augmentation augmentation() const { return {}; }
};

enum class Files {
  read,      // the files must exist and be whole
  outlined,  // the files are missing: tensors have the published sizes and no content
};

// {"name": "fashion_mnist", …}. Returns null for an outline if only the files have the sizes.
using DatasetRegistry = Registry<Dataset, Files>;
using DatasetRegistration = Registration<Dataset, Files>;

}  // namespace thinpipe::trainer
