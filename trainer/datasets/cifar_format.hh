// SPDX-License-Identifier: Apache-2.0
// A file of CIFAR-10 or CIFAR-100 in the binary version: records without a header. Each record has one or two
// bytes of labels, then the red, green and blue pixels of a 32 x 32 image.
// https://www.cs.toronto.edu/~kriz/cifar.html
// Without LibTorch, so that it can be fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thinpipe::trainer {

constexpr std::int64_t cifar_side = 32;
constexpr std::int64_t cifar_channels = 3;
constexpr std::int64_t cifar_pixel_bytes = cifar_channels * cifar_side * cifar_side;

struct CifarFormat {
  std::int64_t classes = 10;
  std::int64_t label_bytes = 1;  // the last byte is the class
  std::int64_t records = 10000;

  std::int64_t record_bytes() const { return label_bytes + cifar_pixel_bytes; }
};

// Returns the file's records, unchanged. Throws SystemError if the file cannot be opened, and Error if its
// size or a label is wrong, naming the file, the expected value and the value found.
std::vector<std::uint8_t> read_cifar_records(const std::string& path, const CifarFormat& format);

}  // namespace thinpipe::trainer
