// SPDX-License-Identifier: Apache-2.0
// A pickle's reference to the memory of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/tensors/pickle.hh"

namespace thinpipe::trainer {

struct ElementType {
  std::string_view storage_class;  // name in Python's module torch: "FloatStorage"
  std::uint64_t bytes = 0;         // per element
};

// The one-dimensional memory that tensors share.
struct StorageId {
  ElementType type;
  std::string key;
  std::int64_t elements = 0;
};

// Reads a pickle's reference to a storage; throws Error naming the path if its form is unknown.
StorageId storage_id(const PickleReference& reference, const std::string& path);

}  // namespace thinpipe::trainer
