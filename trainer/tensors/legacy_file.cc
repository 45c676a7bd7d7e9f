// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/legacy_file.hh"

#include <cstring>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t known_version = 1001;
// The magic number, 0x1950a86a20f9469cfc6c, as written by protocols 0 and 1, and by 2 and later.
constexpr std::string_view magic_text = "L119547037146038801333356L\n.";
constexpr std::string_view magic_bytes = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

// Maps the keys of a file's storages to their elements.
class StorageElements {
 public:
  // `bytes`: the file after the pickles. The size of each storage follows from its type, which the
  // tensors' pickle contains.
  StorageElements(const Pickle& object, const Pickle& keys, std::span<const char> bytes,
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
    if (list == nullptr) fail("the list of keys is missing");
    for (const PickleValue* item : list->items) {
      const auto* key = item->as<std::string>();
      if (key == nullptr || !ids.contains(*key)) fail("the list contains a key that no tensor has");
      bytes = place(ids.at(*key), bytes);
    }
  }

  // Throws Error if the elements of a tensor are missing.
  void expect(const StorageId& id) const {
    const auto found = elements_.find(id.key);
    if (found == elements_.end()) fail("the list lacks a tensor's key");
    if (found->second.size() != static_cast<std::uint64_t>(id.elements) * id.type.bytes) {
      fail("a storage and its tensor differ in size");
    }
  }

  std::map<std::string, std::span<const char>> take() { return std::move(elements_); }

 private:
  // Stores the position of the elements at the beginning of `bytes`; returns the bytes after them.
  std::span<const char> place(const StorageId& id, std::span<const char> bytes) {
    std::int64_t elements = 0;
    if (bytes.size() < sizeof elements) fail("the file ends too early");
    std::memcpy(&elements, bytes.data(), sizeof elements);
    bytes = bytes.subspan(sizeof elements);
    if (elements != id.elements || static_cast<std::uint64_t>(elements) > bytes.size() / id.type.bytes) {
      fail("the file ends too early, or a storage and its tensor differ in size");
    }
    const std::size_t size = static_cast<std::size_t>(elements) * id.type.bytes;
    elements_[id.key] = bytes.first(size);
    return bytes.subspan(size);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{} is damaged: tensor elements: {}", path_, what));
  }

  const std::string& path_;
  std::map<std::string, std::span<const char>> elements_;
};

void check_version(const Pickle& version, const std::string& path) {
  const auto* number = version.root->as<std::int64_t>();
  if (number == nullptr || *number != known_version) {
    throw Error(fmt::format("{} has an unknown version of PyTorch's format before 1.6; only {} is supported",
                            path, known_version));
  }
}

void check_machine(const Pickle& machine, const std::string& path) {
  const auto* about = machine.root->as<PickleDict>();
  const PickleValue* order = about == nullptr ? nullptr : about->find("little_endian");
  const auto* little_endian = order == nullptr ? nullptr : order->as<bool>();
  if (little_endian == nullptr) throw Error(path + " does not contain its numbers' byte order");
  if (!*little_endian) throw Error(path + " was written on a big-endian machine");
}

}  // namespace

bool begins_as_legacy_file(std::string_view beginning) {
  if (beginning.starts_with(magic_text)) return true;
  // Two bytes give the protocol; from protocol 4 on nine more begin a frame.
  const std::size_t place = beginning.find(magic_bytes);
  return beginning.starts_with('\x80') && (place == 2 || place == 11);
}

LegacyFile read_legacy_file(std::span<const char> bytes, const std::string& path) {
  std::vector<Pickle> pickles;
  for (int i = 0; i < 5; ++i) {
    pickles.push_back(read_pickle(bytes, path));
    bytes = bytes.subspan(pickles.back().size);
  }
  check_version(pickles[1], path);
  check_machine(pickles[2], path);
  LegacyFile file{.index = index_state_dict(pickles[3], path), .elements = {}};
  StorageElements elements(pickles[3], pickles[4], bytes, path);
  for (const StoredTensor& tensor : file.index.tensors) elements.expect(tensor.storage);
  file.elements = elements.take();
  return file;
}

}  // namespace thinpipe::trainer
