// Labelled images, whole in memory.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/torch.hh"

namespace thinpipe::trainer {

// What a model must fit: images of channels x height x width, labels 0..classes-1.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;
};

struct Examples {
  torch::Tensor images;  // uint8 [n, channels, height, width]
  torch::Tensor labels;  // int64 [n]

  std::int64_t size() const { return labels.size(0); }
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

  // Images as a model takes them: float32, scaled to [0, 1], then normalised per channel with the data set's
  // own mean and standard deviation. images: uint8 [n, c, h, w]; result: float32 of the same shape.
  virtual torch::Tensor normalise(const torch::Tensor& images) const = 0;
};

// {"name": "fashion_mnist", …}. Making one checks that its files are there and whole, and reads them.
using DatasetRegistry = Registry<Dataset>;

}  // namespace thinpipe::trainer
