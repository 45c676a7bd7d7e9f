// SPDX-License-Identifier: Apache-2.0
// The index of the tensors in a PyTorch file, from the file's pickle: names, shapes, and positions of the
// elements. Without LibTorch, so that it can be fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tensors/pickle.hh"
#include "trainer/tensors/storage_id.hh"

namespace thinpipe::trainer {

// A view of a storage, checked to stay inside it.
struct StoredTensor {
  std::string name;
  StorageId storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  bool negated = false;  // the file contains the elements with the opposite sign
};

struct StateDictIndex {
  std::vector<StoredTensor> tensors;
  // The dict's name in a checkpoint: "state_dict", "ema.model"; "" if the dict is the whole file.
  std::string under;
};

// Finds the file's dict of tensors: the whole file, or the only one among its inner dicts, not counting
// optimisers'. Throws Error naming the path and the faulty tensor; unless there is exactly one such dict, the
// error lists the file's contents.
StateDictIndex index_state_dict(const Pickle& pickle, const std::string& path);

}  // namespace thinpipe::trainer
