// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/state_dict_pickle.hh"

#include <array>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

struct StorageType {
  std::string_view name;  // of the class in Python's module torch
  torch::ScalarType type;
};

constexpr std::array<StorageType, 10> storage_types = {{{"DoubleStorage", torch::kDouble},
                                                        {"FloatStorage", torch::kFloat},
                                                        {"HalfStorage", torch::kHalf},
                                                        {"BFloat16Storage", torch::kBFloat16},
                                                        {"LongStorage", torch::kLong},
                                                        {"IntStorage", torch::kInt},
                                                        {"ShortStorage", torch::kShort},
                                                        {"CharStorage", torch::kChar},
                                                        {"ByteStorage", torch::kByte},
                                                        {"BoolStorage", torch::kBool}}};

// Writes a pickle of a dict of tensors, whose elements are in the archive's records data/0, data/1, ….
class PickleWriter {
 public:
  std::string write(const TensorMap& tensors) {
    out_ = "\x80\x02}(";  // PROTO 2, EMPTY_DICT, MARK
    std::size_t index = 0;
    for (const auto& [name, tensor] : tensors) {
      text(name);
      put_tensor(tensor, index++);
    }
    out_ += "u.";  // SETITEMS, STOP
    return out_;
  }

 private:
  void put_tensor(const torch::Tensor& tensor, std::size_t index) {
    global("torch._utils", "_rebuild_tensor_v2");
    out_ += "((";  // MARK of the arguments, MARK of the storage
    text("storage");
    global("torch", storage_class(tensor.scalar_type()));
    text(std::to_string(index));
    text("cpu");
    integer(tensor.numel());
    out_ += "tQK";  // TUPLE, BINPERSID, BININT1: the offset, 0
    out_ += '\0';
    integers(tensor.sizes());
    integers(tensor.strides());
    out_ += '\x89';  // NEWFALSE: no gradient is required
    global("collections", "OrderedDict");
    out_ += ")RtR";  // EMPTY_TUPLE, REDUCE: no hooks; TUPLE, REDUCE
  }

  static std::string_view storage_class(torch::ScalarType type) {
    for (const auto& [name, storage_type] : storage_types) {
      if (storage_type == type) return name;
    }
    throw Error(fmt::format("tensors of {} cannot be written", c10::toString(type)));
  }

  void global(std::string_view module, std::string_view name) {
    out_ += fmt::format("c{}\n{}\n", module, name);
  }

  void text(std::string_view bytes) {
    out_ += 'X';  // BINUNICODE
    little_endian(bytes.size(), 4);
    out_ += bytes;
  }

  void integer(std::int64_t value) {
    out_ += "\x8a\x08";  // LONG1 of 8 bytes
    little_endian(static_cast<std::uint64_t>(value), 8);
  }

  void integers(at::IntArrayRef values) {
    out_ += '(';
    for (const std::int64_t value : values) integer(value);
    out_ += 't';
  }

  void little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 255U);
  }

  std::string out_;
};

}  // namespace

torch::ScalarType scalar_type(const ElementType& type) {
  for (const StorageType& known : storage_types) {
    if (known.name == type.storage_class) return known.type;
  }
  throw Error(fmt::format("elements of {} are not supported", type.storage_class));
}

TensorMap make_tensors(const StateDictIndex& index, const std::string& path, StorageSource& storages) {
  std::map<std::string, torch::Tensor> loaded;
  TensorMap tensors;
  for (const StoredTensor& stored : index.tensors) {
    torch::Tensor& storage = loaded[stored.storage.key];
    if (!storage.defined()) {
      storage = storages.load(stored.storage);
      check_booleans(storage, path);
    }
    const torch::Tensor view = storage.as_strided(stored.sizes, stored.strides, stored.offset);
    tensors[stored.name] = stored.negated ? view.neg() : view;
  }
  return tensors;
}

std::string write_state_dict(const TensorMap& tensors) {
  return PickleWriter().write(tensors);
}

}  // namespace thinpipe::trainer
