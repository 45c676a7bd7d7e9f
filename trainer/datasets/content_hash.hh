// SPDX-License-Identifier: Apache-2.0
// Names data by their content, not by their path: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <string>

#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

// Hashes all examples and labels, and their shapes and types, unless the data set already knows a hash of its
// content.
std::string content_hash(const Dataset& dataset);

std::string content_hash(const torch::Tensor& tensor);

// Hashes the bytes of a file; throws SystemError naming the path.
std::string content_hash_of_file(const std::string& path);

}  // namespace thinpipe::trainer
