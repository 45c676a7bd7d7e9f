// SPDX-License-Identifier: Apache-2.0
// The elements of contiguous tensors on the CPU.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

template <class Element>
std::span<Element> elements(const torch::Tensor& tensor) {
  return {tensor.data_ptr<Element>(), static_cast<std::size_t>(tensor.numel())};
}

inline std::span<float> floats(const torch::Tensor& tensor) {
  return elements<float>(tensor);
}

}  // namespace thinpipe::trainer
