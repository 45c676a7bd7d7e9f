// Data named by what they hold, not by where they lie: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <string>

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// Of all examples and labels, and of their shapes.
std::string content_hash(const Dataset& dataset);

// Of the bytes of a file; throws SystemError naming the path.
std::string content_hash_of_file(const std::string& path);

}  // namespace thinpipe::trainer
