// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/cifar_format.hh"

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/base/input_file.hh"

namespace thinpipe::trainer {

std::vector<std::uint8_t> read_cifar_records(const std::string& path, const CifarFormat& format) {
  const auto record = static_cast<std::size_t>(format.record_bytes());
  const std::size_t expected = static_cast<std::size_t>(format.records) * record;
  const InputFile file(path);
  if (file.size() != expected) {
    throw Error(fmt::format("{} has {} bytes, expected {}: {} records of {}", path, file.size(), expected,
                            format.records, record));
  }
  std::vector<std::uint8_t> bytes(expected);
  file.read(0, {reinterpret_cast<char*>(bytes.data()), bytes.size()});
  for (std::size_t i = 0; i < bytes.size(); i += record) {
    const std::uint8_t label = bytes[i + static_cast<std::size_t>(format.label_bytes) - 1];
    if (label >= format.classes) {
      throw Error(fmt::format("{}: record {} has label {}, expected 0 to {}", path, i / record, label,
                              format.classes - 1));
    }
  }
  return bytes;
}

}  // namespace thinpipe::trainer
