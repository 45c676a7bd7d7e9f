#include "trainer/pytorch_file.hh"

#include <array>
#include <cstring>

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "harness/support/exception.hh"
#include "trainer/atomic_file.hh"
#include "trainer/input_file.hh"
#include "trainer/pickle.hh"

namespace thinpipe::trainer {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

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

// The memory that tensors share: one dimension.
struct StorageId {
  torch::ScalarType type{};
  std::string key;
  std::int64_t elements = 0;
};

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
    if (member == nullptr || member->as<PickleCall>() != nullptr) continue;
    const auto* candidate = member->as<PickleDict>();
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

TensorMap build_all(const Pickle& pickle, const std::string& path, StorageSource& storages) {
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
  return build_all(pickle, path, storages);
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
  return build_all(pickles[3], path, storages);
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
  const std::string pickle = PickleWriter().write(contiguous);
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
