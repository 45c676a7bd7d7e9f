// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/pytorch_file.hh"

#include <cstring>

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "common/support/atomic_file.hh"
#include "common/support/exception.hh"
#include "trainer/base/input_file.hh"
#include "trainer/base/library_error.hh"
#include "trainer/tensors/legacy_file.hh"
#include "trainer/tensors/state_dict_pickle.hh"

namespace thinpipe::trainer {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

// The archive has a record for each storage, such as "data/0".
class ArchiveStorages : public StorageSource {
 public:
  ArchiveStorages(PyTorchStreamReader& archive, const std::string& path) : archive_(archive), path_(path) {}

  torch::Tensor load(const StorageId& id) override {
    auto [data, bytes] = archive_.getRecord("data/" + id.key);
    const auto width = static_cast<std::int64_t>(id.type.bytes);
    if (static_cast<std::int64_t>(bytes) / width != id.elements ||
        static_cast<std::int64_t>(bytes) % width != 0) {
      throw Error(fmt::format("{}: record data/{} has {} bytes, but should have {} elements of {} bytes",
                              path_, id.key, bytes, id.elements, width));
    }
    if (bytes == 0) return torch::empty({0}, scalar_type(id.type));
    const auto owner = std::make_shared<c10::DataPtr>(std::move(data));
    return torch::from_blob(
        owner->get(), {id.elements}, [owner](void* /*data*/) {}, scalar_type(id.type));
  }

 private:
  PyTorchStreamReader& archive_;
  const std::string& path_;
};

FoundTensors read_archive(const std::string& path) {
  PyTorchStreamReader archive(path);
  if (archive.hasRecord("constants.pkl")) {
    throw Error(path + " is a TorchScript program; save only its tensors: torch.save(model.state_dict(), …)");
  }
  if (archive.hasRecord("byteorder")) {
    const auto [order, bytes] = archive.getRecord("byteorder");
    if (std::string_view(static_cast<const char*>(order.get()), bytes) != "little") {
      throw Error(path + " was written on a big-endian machine");
    }
  }
  const auto [data, bytes] = archive.getRecord("data.pkl");
  const Pickle pickle = read_pickle({static_cast<const char*>(data.get()), bytes}, path);
  const StateDictIndex index = index_state_dict(pickle, path);
  ArchiveStorages storages(archive, path);
  return {make_tensors(index, path, storages), index.under};
}

class LegacyStorages : public StorageSource {
 public:
  explicit LegacyStorages(const LegacyFile& file) : file_(file) {}

  torch::Tensor load(const StorageId& id) override {
    torch::Tensor storage = torch::empty({id.elements}, scalar_type(id.type));
    const std::span<const char> elements = file_.elements.at(id.key);
    if (!elements.empty()) std::memcpy(storage.data_ptr(), elements.data(), elements.size());
    return storage;
  }

 private:
  const LegacyFile& file_;
};

FoundTensors read_legacy(const std::string& path) {
  const std::string bytes = read_file(path);
  const LegacyFile file = read_legacy_file(bytes, path);
  LegacyStorages storages(file);
  return {make_tensors(file.index, path, storages), file.index.under};
}

}  // namespace

bool is_pytorch_file(std::string_view beginning) {
  return beginning.starts_with("PK\x03\x04") || begins_as_legacy_file(beginning);
}

FoundTensors read_pytorch_file(const std::string& path) {
  const std::string beginning = InputFile(path).beginning(beginning_bytes);
  try {
    return begins_as_legacy_file(beginning) ? read_legacy(path) : read_archive(path);
  } catch (const c10::Error& error) {
    throw Error(fmt::format("{} is damaged or not a file of tensors: {}", path, message_of(error)));
  }
}

void write_pytorch_file(const TensorMap& tensors, const std::string& path) {
  TensorMap contiguous;
  for (const auto& [name, tensor] : tensors) contiguous[name] = tensor.detach().cpu().contiguous();
  const std::string pickle = write_state_dict(contiguous);
  std::string bytes;
  PyTorchStreamWriter archive([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  archive.writeRecord("data.pkl", pickle.data(), pickle.size());
  std::size_t index = 0;
  for (const auto& [name, tensor] : contiguous) {
    archive.writeRecord(fmt::format("data/{}", index++), tensor.data_ptr(), tensor.nbytes());
  }
  archive.writeEndOfFile();
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace thinpipe::trainer
