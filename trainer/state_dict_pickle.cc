#include "trainer/state_dict_pickle.hh"

#include <array>

#include <fmt/format.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {
namespace {

struct StorageType {
  std::string_view name;  // of Python's class in the module torch
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

// Turns the calls that a pickle holds where Python would make tensors into these tensors.
class TensorBuilder {
 public:
  TensorBuilder(const std::string& path, StorageSource& storages) : path_(path), storages_(storages) {}

  torch::Tensor build(const std::string& name, const PickleValue& value) {
    const auto* call = value.as<PickleCall>();
    // A Parameter is a call with a tensor as its first argument.
    while (call != nullptr && function(*call).starts_with("torch._utils._rebuild_parameter")) {
      call = argument(name, *call, 0).as<PickleCall>();
    }
    if (call == nullptr) fail(name, "is not a tensor");
    const std::string called = function(*call);
    if (called != "torch._utils._rebuild_tensor_v2" && called != "torch._utils._rebuild_tensor") {
      fail(name, "is made by " + (called.empty() ? "an unknown function" : called) + ", not a plain tensor");
    }
    const std::int64_t offset = integer(name, argument(name, *call, 1));
    const std::vector<std::int64_t> sizes = integers(name, argument(name, *call, 2));
    const std::vector<std::int64_t> strides = integers(name, argument(name, *call, 3));
    const torch::Tensor storage = find_storage(name, argument(name, *call, 0));
    check_inside(name, storage.numel(), offset, sizes, strides);
    return storage.as_strided(sizes, strides, offset);
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(fmt::format("{}: \"{}\" {}", path_, name, what));
  }

  static std::string function(const PickleCall& call) {
    const auto* global = call.callee->as<PickleGlobal>();
    return global == nullptr ? "" : global->name;
  }

  const PickleValue& argument(const std::string& name, const PickleCall& call, std::size_t index) const {
    const auto* arguments = call.arguments->as<PickleSequence>();
    if (arguments == nullptr || index >= arguments->items.size()) fail(name, "lacks a part of a tensor");
    return *arguments->items[index];
  }

  std::int64_t integer(const std::string& name, const PickleValue& value) const {
    const auto* number = value.as<std::int64_t>();
    if (number == nullptr || *number < 0) fail(name, "has a size that is not a whole number from 0");
    return *number;
  }

  std::vector<std::int64_t> integers(const std::string& name, const PickleValue& value) const {
    const auto* sequence = value.as<PickleSequence>();
    if (sequence == nullptr) fail(name, "has no shape");
    std::vector<std::int64_t> out;
    for (const PickleValue* item : sequence->items) out.push_back(integer(name, *item));
    return out;
  }

  torch::Tensor find_storage(const std::string& name, const PickleValue& value) {
    const auto* reference = value.as<PickleReference>();
    if (reference == nullptr) fail(name, "does not say where its elements are");
    const StorageId id = storage_id(*reference, path_);
    const auto known = loaded_.find(id.key);
    if (known == loaded_.end()) {
      const torch::Tensor storage = storages_.load(id);
      check_booleans(storage, path_);
      return loaded_[id.key] = storage;
    }
    if (known->second.scalar_type() != id.type || known->second.numel() != id.elements) {
      fail(name, "says otherwise than an earlier tensor about the memory both share");
    }
    return known->second;
  }

  // The last element's place, without overflow: elements is below 2^63, and so is every product that passes.
  void check_inside(const std::string& name, std::int64_t elements, std::int64_t offset,
                    const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) const {
    bool ok = sizes.size() == strides.size() && offset <= elements;
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) ok = ok && !__builtin_mul_overflow(count, size, &count);
    std::int64_t last = offset;
    for (std::size_t i = 0; ok && count > 0 && i < sizes.size(); ++i) {
      std::int64_t distance = 0;
      ok = !__builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) &&
           !__builtin_add_overflow(last, distance, &last);
    }
    if (!ok || (count > 0 && last >= elements))
      fail(name, "reaches beyond the memory that the file has for it");
  }

  const std::string& path_;
  StorageSource& storages_;
  std::map<std::string, torch::Tensor> loaded_;
};

// The dict of tensors that the file is about.
const PickleDict& find_state_dict(const PickleValue& root, const std::string& path) {
  const PickleValue* value = &root;
  // LibTorch marks a dict with its type.
  if (const auto* call = value->as<PickleCall>(); call != nullptr) {
    const auto* callee = call->callee->as<PickleGlobal>();
    const auto* arguments = call->arguments->as<PickleSequence>();
    if (callee != nullptr && callee->name == "torch.jit._pickle.restore_type_tag" && arguments != nullptr &&
        !arguments->items.empty()) {
      value = arguments->items[0];
    }
  }
  const auto* dict = value->as<PickleDict>();
  if (dict == nullptr) {
    throw Error(path + (value->as<PickleCall>() == nullptr
                            ? " does not hold a dict of tensors"
                            : " holds a whole Python object; save its tensors alone: "
                              "torch.save(model.state_dict(), …)"));
  }
  const PickleDict* inner = nullptr;
  std::string_view inner_name;
  for (const std::string_view name : {"state_dict", "model_state_dict", "model"}) {
    const PickleValue* member = dict->find(name);
    const auto* candidate = member == nullptr ? nullptr : member->as<PickleDict>();
    if (candidate == nullptr) continue;
    if (inner != nullptr) {
      throw Error(fmt::format("{} holds both \"{}\" and \"{}\": save the one that is meant alone", path,
                              inner_name, name));
    }
    inner = candidate;
    inner_name = name;
  }
  return inner == nullptr ? *dict : *inner;
}

// Writes a pickle of a dict of tensors, whose elements stand in the archive's records data/0, data/1, ….
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

// ("storage", torch.FloatStorage, "0", "cpu", 12, and in old files which part of another storage it is)
StorageId storage_id(const PickleReference& reference, const std::string& path) {
  const auto* parts = reference.id->as<PickleSequence>();
  if (parts == nullptr || parts->items.size() < 5) {
    throw Error(path + " does not say where the elements of a tensor are");
  }
  const auto* storage_class = parts->items[1]->as<PickleGlobal>();
  const auto* key = parts->items[2]->as<std::string>();
  const auto* elements = parts->items[4]->as<std::int64_t>();
  const bool whole = parts->items.size() == 5 || parts->items[5]->as<PickleOther>() != nullptr;
  if (storage_class == nullptr || key == nullptr || elements == nullptr || *elements < 0 || !whole) {
    throw Error(path + " says in an unknown way where the elements of a tensor are");
  }
  for (const auto& [name, type] : storage_types) {
    if (storage_class->name == fmt::format("torch.{}", name)) return {type, *key, *elements};
  }
  throw Error(
      fmt::format("{} has elements of {}, which is none of the types supported", path, storage_class->name));
}

TensorMap read_state_dict(const Pickle& pickle, const std::string& path, StorageSource& storages) {
  TensorBuilder builder(path, storages);
  TensorMap tensors;
  for (const auto& [key, value] : find_state_dict(*pickle.root, path).items) {
    const auto* name = key->as<std::string>();
    if (name == nullptr) throw Error(path + " holds a tensor without a name");
    if (!tensors.emplace(*name, builder.build(*name, *value)).second) {
      throw Error(fmt::format("{} holds two tensors of the name \"{}\"", path, *name));
    }
  }
  return tensors;
}

std::string write_state_dict(const TensorMap& tensors) {
  return PickleWriter().write(tensors);
}

}  // namespace thinpipe::trainer
