// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/idx_file.hh"

#include "trainer/datasets/idx_format.hh"

namespace thinpipe::trainer {

torch::Tensor read_idx(const std::string& path, std::int64_t dimensions) {
  torch::Tensor elements;
  read_idx_bytes(path, dimensions, [&elements](const std::vector<std::int64_t>& shape) {
    elements = torch::empty(shape, torch::kUInt8);
    return std::span(elements.data_ptr<std::uint8_t>(), static_cast<std::size_t>(elements.numel()));
  });
  return elements;
}

}  // namespace thinpipe::trainer
