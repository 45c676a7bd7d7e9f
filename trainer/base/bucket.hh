// SPDX-License-Identifier: Apache-2.0
// A bucket: a flat, contiguous float32 part of the gradient, and the parameters that it consists of.
#pragma once

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// The properties of a parameter that bucket layouts and methods need.
struct ParameterInfo {
  std::string name;
  std::int64_t size = 0;        // number of elements
  std::int64_t dimensions = 0;  // 1 for biases and for the scales and shifts of normalisation layers
  std::int64_t rows = 1;        // of the parameter as a matrix: the first dimension if there are two or more
  std::vector<std::int64_t> shape = {};  // empty if it is not known
};

// The position of a whole parameter in a bucket.
struct Slice {
  std::size_t parameter = 0;  // index into the list of ParameterInfo
  std::int64_t offset = 0;    // first element in the bucket
  std::int64_t size = 0;
};

struct Bucket {
  std::size_t index = 0;
  std::int64_t size = 0;           // elements
  std::vector<Slice> slices = {};  // ascending offsets, no gaps
  bool side = false;               // parameters that the method does not change: always synchronised densely
  torch::Tensor gradient = {};     // float32 [size]; undefined until gradients are collected

  torch::Tensor view(const Slice& slice) const { return gradient.narrow(0, slice.offset, slice.size); }
};

}  // namespace thinpipe::trainer
