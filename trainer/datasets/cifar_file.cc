// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/cifar_file.hh"

namespace thinpipe::trainer {

Examples read_cifar_file(const std::string& path, const CifarFormat& format) {
  std::vector<std::uint8_t> records = read_cifar_records(path, format);
  const torch::Tensor bytes =
      torch::from_blob(records.data(), {format.records, format.record_bytes()}, torch::kUInt8);
  // Both results are copies, because `bytes` goes out of scope.
  return {bytes.narrow(1, format.label_bytes, cifar_pixel_bytes)
              .clone(torch::MemoryFormat::Contiguous)
              .view({format.records, cifar_channels, cifar_side, cifar_side}),
          bytes.select(1, format.label_bytes - 1).to(torch::kInt64)};
}

}  // namespace thinpipe::trainer
