// What the pickle inside one of PyTorch's files says about its tensors: their names, shapes, and where their
// elements are. Without LibTorch, so that it can be fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pickle.hh"

namespace thinpipe::trainer {

struct ElementType {
  std::string_view storage_class;  // as Python's module torch names it: "FloatStorage"
  std::uint64_t bytes = 0;         // per element
};

// The memory that tensors share: one dimension.
struct StorageId {
  ElementType type;
  std::string key;
  std::int64_t elements = 0;
};

// Reads a pickle's reference to a storage; throws Error naming the path if it is of an unknown kind.
StorageId storage_id(const PickleReference& reference, const std::string& path);

// A view of a storage, checked to stay inside it.
struct StoredTensor {
  std::string name;
  StorageId storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  bool negated = false;  // the elements stand in the file with the other sign
};

struct StateDictIndex {
  std::vector<StoredTensor> tensors;
  std::string
      under;  // the name of the dict in a checkpoint: "state_dict", "ema.model"; "" if it is the whole
};

// Finds the dict of tensors that a file is about: the whole, or the only one among the members of dicts, but
// for those of optimisers. Throws Error naming the path and the tensor that is at fault, and, unless there is
// exactly one such dict, what the file holds instead.
StateDictIndex index_state_dict(const Pickle& pickle, const std::string& path);

}  // namespace thinpipe::trainer
