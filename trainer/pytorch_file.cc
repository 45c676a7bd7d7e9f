#include "trainer/pytorch_file.hh"

#include <cstring>

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "harness/support/atomic_file.hh"
#include "harness/support/exception.hh"
#include "trainer/input_file.hh"
#include "trainer/state_dict_pickle.hh"

namespace thinpipe::trainer {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

// A record of the archive for each storage: "data/0".
class ArchiveStorages : public StorageSource {
 public:
  ArchiveStorages(PyTorchStreamReader& archive, const std::string& path) : archive_(archive), path_(path) {}

  torch::Tensor load(const StorageId& id) override {
    auto [data, bytes] = archive_.getRecord("data/" + id.key);
    const auto width = static_cast<std::int64_t>(c10::elementSize(id.type));
    if (static_cast<std::int64_t>(bytes) / width != id.elements ||
        static_cast<std::int64_t>(bytes) % width != 0) {
      throw Error(fmt::format("{}: its record data/{} has {} bytes, but should have {} elements of {}", path_,
                              id.key, bytes, id.elements, width));
    }
    if (bytes == 0) return torch::empty({0}, id.type);
    const auto owner = std::make_shared<c10::DataPtr>(std::move(data));
    return torch::from_blob(
        owner->get(), {id.elements}, [owner](void* /*data*/) {}, id.type);
  }

 private:
  PyTorchStreamReader& archive_;
  const std::string& path_;
};

TensorMap read_archive(const std::string& path) {
  PyTorchStreamReader archive(path);
  if (archive.hasRecord("constants.pkl")) {
    throw Error(path +
                " is a TorchScript program; save its tensors alone: torch.save(model.state_dict(), …)");
  }
  if (archive.hasRecord("byteorder")) {
    const auto [order, bytes] = archive.getRecord("byteorder");
    if (std::string_view(static_cast<const char*>(order.get()), bytes) != "little") {
      throw Error(path + " was written on a big-endian machine");
    }
  }
  const auto [data, bytes] = archive.getRecord("data.pkl");
  const Pickle pickle = read_pickle({static_cast<const char*>(data.get()), bytes}, path);
  ArchiveStorages storages(archive, path);
  return read_state_dict(pickle, path, storages);
}

// The format before PyTorch 1.6: five pickles (a magic number, the version, the machine, the object, the keys
// of the storages), then for each key the number of elements, int64, and the elements.
constexpr std::string_view legacy_beginning =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";  // the magic number as Python pickles it

class LegacyStorages : public StorageSource {
 public:
  // `bytes`: what follows the pickles. The size of each storage is known by its type, which stands with the
  // tensors.
  LegacyStorages(const Pickle& object, const Pickle& keys, std::span<const char> bytes,
                 const std::string& path)
      : path_(path) {
    std::map<std::string, StorageId> ids;
    for (const PickleValue& value : object.values) {
      if (const auto* reference = value.as<PickleReference>()) {
        const StorageId id = storage_id(*reference, path);
        ids[id.key] = id;
      }
    }
    const auto* list = keys.root->as<PickleSequence>();
    if (list == nullptr) fail("there is no list of them");
    for (const PickleValue* item : list->items) {
      const auto* key = item->as<std::string>();
      if (key == nullptr || !ids.contains(*key)) fail("one is listed that no tensor has");
      bytes = place(ids.at(*key), bytes);
    }
  }

  torch::Tensor load(const StorageId& id) override {
    const auto found = elements_.find(id.key);
    if (found == elements_.end()) fail("one is not listed");
    torch::Tensor storage = torch::empty({id.elements}, id.type);
    if (storage.nbytes() != found->second.size()) fail("one has another size than a tensor says");
    if (!found->second.empty()) std::memcpy(storage.data_ptr(), found->second.data(), found->second.size());
    return storage;
  }

 private:
  // Notes where the elements are that `bytes` begin with; returns what comes after them.
  std::span<const char> place(const StorageId& id, std::span<const char> bytes) {
    std::int64_t elements = 0;
    if (bytes.size() < sizeof elements) fail("they end too early");
    std::memcpy(&elements, bytes.data(), sizeof elements);
    bytes = bytes.subspan(sizeof elements);
    const std::size_t width = c10::elementSize(id.type);
    if (elements != id.elements || static_cast<std::uint64_t>(elements) > bytes.size() / width) {
      fail("they end too early, or one has another size than a tensor says");
    }
    const std::size_t size = static_cast<std::size_t>(elements) * width;
    elements_[id.key] = bytes.first(size);
    return bytes.subspan(size);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{} is damaged: of the elements of its tensors, {}", path_, what));
  }

  const std::string& path_;
  std::map<std::string, std::span<const char>> elements_;  // by the key of their storage
};

TensorMap read_legacy(const std::string& path) {
  const std::string text = read_file(path);
  std::span<const char> rest = text;
  std::vector<Pickle> pickles;
  for (int i = 0; i < 5; ++i) {
    pickles.push_back(read_pickle(rest, path));
    rest = rest.subspan(pickles.back().size);
  }
  LegacyStorages storages(pickles[3], pickles[4], rest, path);
  return read_state_dict(pickles[3], path, storages);
}

}  // namespace

bool is_pytorch_file(std::string_view beginning) {
  return beginning.starts_with("PK\x03\x04") || beginning.starts_with("\x80\x02");
}

TensorMap read_pytorch_file(const std::string& path) {
  const std::string beginning = InputFile(path).beginning(legacy_beginning.size());
  try {
    if (beginning.starts_with("PK")) return read_archive(path);
    if (beginning == legacy_beginning) return read_legacy(path);
  } catch (const c10::Error& error) {
    throw Error(
        fmt::format("{} is damaged or not a file of tensors: {}", path, error.what_without_backtrace()));
  }
  throw Error(path + " is not a file that torch.save wrote");
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
