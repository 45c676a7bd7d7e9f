// SPDX-License-Identifier: Apache-2.0
// Creates tensors from a PyTorch file's index, and writes the pickle of a dict of tensors.
#pragma once

#include "trainer/base/tensor_map.hh"
#include "trainer/tensors/state_dict_index.hh"

namespace thinpipe::trainer {

// The source of a file's elements.
class StorageSource {
 public:
  StorageSource() = default;
  virtual ~StorageSource() = default;
  StorageSource(const StorageSource&) = delete;
  StorageSource& operator=(const StorageSource&) = delete;
  StorageSource(StorageSource&&) = delete;
  StorageSource& operator=(StorageSource&&) = delete;

  virtual torch::Tensor load(const StorageId& id) = 0;
};

torch::ScalarType scalar_type(const ElementType& type);

// Creates the tensors. Tensors that share memory in the file also share it here, unless they are negated.
// Throws Error naming the path if the elements do not match the index.
TensorMap make_tensors(const StateDictIndex& index, const std::string& path, StorageSource& storages);

// Returns the pickle of contiguous tensors; the i-th in the order of names has the storage key i.
std::string write_state_dict(const TensorMap& tensors);

}  // namespace thinpipe::trainer
