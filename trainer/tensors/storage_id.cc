// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/storage_id.hh"

#include <array>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/tensors/pickle_text.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::array<ElementType, 10> element_types = {{{"DoubleStorage", 8},
                                                        {"FloatStorage", 4},
                                                        {"HalfStorage", 2},
                                                        {"BFloat16Storage", 2},
                                                        {"LongStorage", 8},
                                                        {"IntStorage", 4},
                                                        {"ShortStorage", 2},
                                                        {"CharStorage", 1},
                                                        {"ByteStorage", 1},
                                                        {"BoolStorage", 1}}};

}  // namespace

// id: ("storage", torch.FloatStorage, "0", "cpu", 12, and in old files the part of another storage that it
// is), or the same as text in protocol 0.
StorageId storage_id(const PickleReference& reference, const std::string& path) {
  std::string storage_class;
  StorageId id;
  if (const auto* text = reference.id->as<std::string>()) {
    const auto storage = read_storage_text(*text);
    if (!storage)
      throw Error(fmt::format("{} refers to a tensor's storage in an unknown way: {}", path, *text));
    storage_class = storage->storage_class;
    id = {.type = {}, .key = storage->key, .elements = storage->elements};
  } else {
    const auto* parts = reference.id->as<PickleSequence>();
    if (parts == nullptr || parts->items.size() < 5) {
      throw Error(path + " does not refer to a tensor's storage");
    }
    const auto* global = parts->items[1]->as<PickleGlobal>();
    const auto* key = parts->items[2]->as<std::string>();
    const auto* elements = parts->items[4]->as<std::int64_t>();
    if (parts->items.size() > 5 && parts->items[5]->as<PickleOther>() == nullptr) {
      throw Error(path +
                  " keeps a tensor's storage as a part of another, as only PyTorch before 0.4 did: "
                  "load and save it once with a newer version");
    }
    if (global == nullptr || key == nullptr || elements == nullptr) {
      throw Error(path + " refers to a tensor's storage in an unknown way");
    }
    storage_class = global->name;
    id = {.type = {}, .key = *key, .elements = *elements};
  }
  if (id.elements < 0) throw Error(path + " has a tensor with a negative number of elements");
  for (const ElementType& type : element_types) {
    if (storage_class == fmt::format("torch.{}", type.storage_class)) {
      id.type = type;
      return id;
    }
  }
  throw Error(fmt::format("{} has elements of {}, which is not supported", path, storage_class));
}

}  // namespace thinpipe::trainer
