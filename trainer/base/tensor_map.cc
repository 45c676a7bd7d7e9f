// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/tensor_map.hh"

#include <algorithm>
#include <cstdint>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what) {
  const auto entry = tensors.find(name);
  if (entry == tensors.end()) throw Error(fmt::format("{} has no tensor \"{}\"", what, name));
  const torch::Tensor& tensor = entry->second;
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw Error(fmt::format("tensor \"{}\" of {} is {}, but {} is needed", name, what,
                            describe_tensor(tensor), describe_tensor(like)));
  }
  return tensor;
}

std::string describe_tensor(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

void check_booleans(const torch::Tensor& tensor, const std::string& what) {
  if (tensor.scalar_type() != torch::kBool) return;
  const std::span bytes(static_cast<const std::uint8_t*>(tensor.data_ptr()), tensor.nbytes());
  if (std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte > 1; })) {
    throw Error(what + " has booleans that are neither 0 nor 1");
  }
}

}  // namespace thinpipe::trainer
