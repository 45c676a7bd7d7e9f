// A file of CIFAR-10 or CIFAR-100 in their binary version: records without a header, each one or two bytes of
// labels and the red, green and blue pixels of a 32 x 32 image. https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

constexpr std::int64_t cifar_side = 32;

struct CifarFormat {
  std::int64_t classes = 10;
  std::int64_t label_bytes = 1;  // the last of them is the class
  std::int64_t records = 10000;
};

// Throws SystemError when the file cannot be opened, and Error naming the file, what was expected and what is
// there when its size or a label is not as it should be.
Examples read_cifar_file(const std::string& path, const CifarFormat& format);

}  // namespace thinpipe::trainer
