// A file of CIFAR-10 or CIFAR-100 in their binary version: records without a header, each one or two bytes of
// labels and the red, green and blue pixels of a 32 x 32 image. https://www.cs.toronto.edu/~kriz/cifar.html
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
  std::int64_t label_bytes = 1;  // the last of them is the class
  std::int64_t records = 10000;

  std::int64_t record_bytes() const { return label_bytes + cifar_pixel_bytes; }
};

// The records as they lie in the file. Throws SystemError when it cannot be opened, and Error naming the
// file, what was expected and what is there when its size or a label is not as it should be.
std::vector<std::uint8_t> read_cifar_records(const std::string& path, const CifarFormat& format);

}  // namespace thinpipe::trainer
