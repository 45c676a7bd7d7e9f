// The pickle inside PyTorch's files: a dict of tensors whose elements stand elsewhere in the file.
#pragma once

#include "trainer/pickle.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// The memory that tensors share: one dimension.
struct StorageId {
  torch::ScalarType type{};
  std::string key;
  std::int64_t elements = 0;
};

// What a pickle says about it; throws Error naming the path when that is of an unknown kind.
StorageId storage_id(const PickleReference& reference, const std::string& path);

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

// Tensors that share memory in the file do so here. Throws Error naming the path, and the tensor where one is
// at fault.
TensorMap read_state_dict(const Pickle& pickle, const std::string& path, StorageSource& storages);

// The pickle of contiguous tensors, of which the i-th in the order of names has the storage of key i.
std::string write_state_dict(const TensorMap& tensors);

}  // namespace thinpipe::trainer
