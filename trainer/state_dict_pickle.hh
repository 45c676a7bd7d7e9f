// The tensors of PyTorch's files: made of what a pickle says about them, and written as one.
#pragma once

#include "trainer/state_dict_index.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// Where a file keeps the elements.
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

// Tensors that share memory in the file do so here, unless they are negated. Throws Error naming the path if
// the elements are not what the index says.
TensorMap make_tensors(const StateDictIndex& index, const std::string& path, StorageSource& storages);

// The pickle of contiguous tensors, of which the i-th in the order of names has the storage of key i.
std::string write_state_dict(const TensorMap& tensors);

}  // namespace thinpipe::trainer
