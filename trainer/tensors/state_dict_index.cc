#include "trainer/tensors/state_dict_index.hh"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// A view may repeat its elements, and several views may share them, as tied and expanded weights do. In
// total they may take this much more memory than the file contains; otherwise a tiny file could fill the
// machine's memory.
constexpr std::int64_t repeated_bytes_at_most = std::int64_t{1} << 30;

constexpr int dicts_inside_at_most = 3;
constexpr std::size_t members_listed_at_most = 12;

std::string function_of(const PickleCall& call) {
  const auto* global = call.callee->as<PickleGlobal>();
  return global == nullptr ? "" : global->name;
}

bool makes_tensor(const PickleValue& value) {
  const auto* call = value.as<PickleCall>();
  return call != nullptr && function_of(*call).starts_with("torch._utils._rebuild_");
}

// Reads the calls in a pickle with which Python would create tensors.
class TensorReader {
 public:
  explicit TensorReader(const std::string& path) : path_(path) {}

  StoredTensor read(const std::string& name, const PickleValue& value) {
    const PickleCall& call = tensor_call(name, value);
    StoredTensor tensor{.name = name,
                        .storage = find_storage(name, argument(name, call, 0)),
                        .offset = integer(name, argument(name, call, 1)),
                        .sizes = integers(name, argument(name, call, 2)),
                        .strides = integers(name, argument(name, call, 3))};
    read_metadata(call, tensor);
    check_inside(tensor);
    return tensor;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(fmt::format("{}: \"{}\" {}", path_, name, what));
  }

  // A Parameter is a call with a tensor as its first argument.
  const PickleCall& tensor_call(const std::string& name, const PickleValue& value) const {
    const auto* call = value.as<PickleCall>();
    if (call != nullptr && function_of(*call).starts_with("torch._utils._rebuild_parameter")) {
      call = argument(name, *call, 0).as<PickleCall>();
      // A file may claim that this one is a parameter in turn, even in a circle.
      if (call != nullptr && function_of(*call).starts_with("torch._utils._rebuild_parameter")) {
        fail(name, "is a parameter made of another parameter instead of a tensor");
      }
    }
    if (call == nullptr) fail(name, "is not a tensor");
    const std::string called = function_of(*call);
    if (called != "torch._utils._rebuild_tensor_v2" && called != "torch._utils._rebuild_tensor") {
      fail(name,
           "is created by " + (called.empty() ? "an unknown function" : called) + ", not a plain tensor");
    }
    if (call->state != nullptr)
      fail(name, "is a tensor that is changed after its creation, not a plain tensor");
    return *call;
  }

  const PickleValue& argument(const std::string& name, const PickleCall& call, std::size_t index) const {
    const auto* arguments = call.arguments->as<PickleSequence>();
    if (arguments == nullptr || index >= arguments->items.size()) fail(name, "is an incomplete tensor");
    return *arguments->items[index];
  }

  std::int64_t integer(const std::string& name, const PickleValue& value) const {
    const auto* number = value.as<std::int64_t>();
    if (number == nullptr || *number < 0) fail(name, "has a size that is not a nonnegative integer");
    return *number;
  }

  std::vector<std::int64_t> integers(const std::string& name, const PickleValue& value) const {
    const auto* sequence = value.as<PickleSequence>();
    if (sequence == nullptr) fail(name, "has no shape");
    std::vector<std::int64_t> out;
    for (const PickleValue* item : sequence->items) out.push_back(integer(name, *item));
    return out;
  }

  StorageId find_storage(const std::string& name, const PickleValue& value) {
    const auto* reference = value.as<PickleReference>();
    if (reference == nullptr) fail(name, "does not refer to a storage");
    StorageId id = storage_id(*reference, path_);
    const auto [known, is_new] = storages_.emplace(id.key, id);
    if (is_new) unused_bytes_ += bytes(name, id.elements, id.type);
    if (known->second.type.storage_class != id.type.storage_class || known->second.elements != id.elements) {
      fail(name, "contradicts an earlier tensor about their common storage");
    }
    return id;
  }

  std::int64_t bytes(const std::string& name, std::int64_t elements, const ElementType& type) const {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(type.bytes), &bytes) ||
        bytes > std::int64_t{1} << 60) {
      fail(name, "is too large");
    }
    return bytes;
  }

  // Metadata follow storage, offset, sizes, strides, requires_grad and hooks. They are operations that
  // PyTorch applies to the elements when it reads them.
  void read_metadata(const PickleCall& call, StoredTensor& tensor) const {
    const auto& arguments = call.arguments->as<PickleSequence>()->items;
    if (arguments.size() > 7) fail(tensor.name, "has more parts than a plain tensor");
    if (arguments.size() < 7 || arguments[6]->as<PickleOther>() != nullptr) return;
    const auto* metadata = arguments[6]->as<PickleDict>();
    if (metadata == nullptr) fail(tensor.name, "has metadata that is not a dict");
    for (const auto& [key, value] : metadata->items) {
      const auto* name = key->as<std::string>();
      const auto* set = value->as<bool>();
      if (name == nullptr || set == nullptr) fail(tensor.name, "has metadata of an unknown kind");
      const bool floating = tensor.storage.type.storage_class == "DoubleStorage" ||
                            tensor.storage.type.storage_class == "FloatStorage" ||
                            tensor.storage.type.storage_class == "HalfStorage" ||
                            tensor.storage.type.storage_class == "BFloat16Storage";
      if (*name == "neg" && (floating || !*set)) {
        tensor.negated = *set;
      } else if (*set) {
        fail(tensor.name,
             fmt::format("is marked \"{}\", which is not supported: save its .resolve_conj().resolve_neg()",
                         *name));
      }
    }
  }

  // Checks the last element's position without overflow: elements is below 2^63, and so is every
  // accepted product.
  void check_inside(const StoredTensor& tensor) {
    const auto& [name, storage, offset, sizes, strides, negated] = tensor;
    bool ok = sizes.size() == strides.size() && offset <= storage.elements;
    std::int64_t count = 1;
    std::int64_t stride = 1;  // LibTorch multiplies the sizes even if one of them is 0
    for (const std::int64_t size : sizes) {
      ok = ok && !__builtin_mul_overflow(count, size, &count) &&
           !__builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &stride);
    }
    std::int64_t last = offset;
    for (std::size_t i = 0; ok && count > 0 && i < sizes.size(); ++i) {
      std::int64_t distance = 0;
      ok = !__builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) &&
           !__builtin_add_overflow(last, distance, &last);
    }
    if (!ok || (count > 0 && last >= storage.elements)) {
      fail(name, "reaches beyond its storage");
    }
    unused_bytes_ -= bytes(name, count, storage.type);
    if (unused_bytes_ < -repeated_bytes_at_most) {
      fail(name,
           fmt::format("of shape [{}] repeats the {} elements of its storage: it and the tensors before it "
                       "would take {} bytes more than the file contains. An expanded view, whose values are "
                       "all the same, does this: save the tensor that was expanded",
                       fmt::join(sizes, ", "), storage.elements, repeated_bytes_at_most));
    }
  }

  const std::string& path_;
  std::map<std::string, StorageId> storages_;
  // Bytes of storages so far minus those of tensors: negative if elements are repeated.
  std::int64_t unused_bytes_ = 0;
};

// A dict of tensors in a file, and the path of names to it.
struct Candidate {
  const PickleDict* dict;
  std::string under;
  std::size_t tensors;
};

std::string describe(const PickleValue& value) {
  if (makes_tensor(value)) return "a tensor";
  if (const auto* dict = value.as<PickleDict>()) return fmt::format("a dict of {}", dict->items.size());
  if (const auto* list = value.as<PickleSequence>())
    return fmt::format("a sequence of {}", list->items.size());
  if (value.as<std::string>() != nullptr) return "a text";
  if (value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr) return "a number";
  if (value.as<bool>() != nullptr) return "a boolean";
  if (const auto* call = value.as<PickleCall>()) {
    const std::string made_by = function_of(*call);
    return made_by.empty() ? "a Python object" : "a Python object of " + made_by;
  }
  return "something else";
}

std::string list_members(const PickleDict& dict) {
  std::vector<std::string> members;
  for (const auto& [key, value] : dict.items) {
    if (members.size() == members_listed_at_most) {
      members.push_back(fmt::format("and {} more", dict.items.size() - members.size()));
      break;
    }
    const auto* name = key->as<std::string>();
    members.push_back(fmt::format("{} ({})",
                                  name == nullptr ? "a member without a name" : fmt::format("\"{}\"", *name),
                                  describe(*value)));
  }
  return members.empty() ? "nothing" : fmt::format("{}", fmt::join(members, ", "));
}

// Returns the number of tensors in a dict, not in its inner dicts. In a file with inner dicts, single numbers
// are a checkpoint's figures, such as its best accuracy, and do not count.
std::size_t count_tensors(const PickleDict& dict, bool whole_file) {
  std::size_t tensors = 0;
  bool figures_alone = whole_file;
  for (const auto& [key, value] : dict.items) {
    if (!makes_tensor(*value)) continue;
    ++tensors;
    const auto* arguments = value->as<PickleCall>()->arguments->as<PickleSequence>();
    const auto* sizes = arguments == nullptr || arguments->items.size() < 3
                            ? nullptr
                            : arguments->items[2]->as<PickleSequence>();
    figures_alone = figures_alone && sizes != nullptr && sizes->items.empty();
  }
  const bool has_dicts = std::any_of(dict.items.begin(), dict.items.end(), [](const auto& item) {
    return item.second->template as<PickleDict>() != nullptr;
  });
  return figures_alone && has_dicts ? 0 : tensors;
}

// Finds the dicts of tensors in a file, each once, even if it has several names.
class Search {
 public:
  explicit Search(const PickleDict& root) { visit(root, "", 0); }

  const std::vector<Candidate>& found() const { return found_; }

 private:
  void visit(const PickleDict& dict, const std::string& under, int depth) {
    if (!seen_.insert(&dict).second) return;
    const std::size_t tensors = count_tensors(dict, depth == 0);
    if (tensors > 0) found_.push_back({&dict, under, tensors});
    if (depth == dicts_inside_at_most) return;
    for (const auto& [key, value] : dict.items) {
      const auto* name = key->as<std::string>();
      const auto* inner = value->as<PickleDict>();
      // Optimiser state also has entries by the parameters' names.
      if (name == nullptr || inner == nullptr || name->find("optim") != std::string::npos) continue;
      visit(*inner, under.empty() ? *name : under + "." + *name, depth + 1);
    }
  }

  std::set<const PickleDict*> seen_;
  std::vector<Candidate> found_;
};

const PickleDict& root_dict(const PickleValue& root, const std::string& path) {
  const PickleValue* value = &root;
  // LibTorch wraps a dict in a call that marks its type.
  if (const auto* call = value->as<PickleCall>(); call != nullptr) {
    const auto* arguments = call->arguments->as<PickleSequence>();
    if (function_of(*call) == "torch.jit._pickle.restore_type_tag" && arguments != nullptr &&
        !arguments->items.empty()) {
      value = arguments->items[0];
    }
  }
  const auto* dict = value->as<PickleDict>();
  if (dict != nullptr) return *dict;
  if (value->as<PickleCall>() == nullptr || makes_tensor(*value)) {
    throw Error(fmt::format("{} does not contain a dict of tensors, but {}", path, describe(*value)));
  }
  throw Error(fmt::format(
      "{} contains a whole Python object ({}); save only its tensors: torch.save(model.state_dict(), …)",
      path, function_of(*value->as<PickleCall>())));
}

bool share_a_name(const PickleDict& one, const PickleDict& other) {
  std::set<std::string_view> names;
  for (const auto& [key, value] : one.items) {
    if (const auto* name = key->as<std::string>()) names.insert(*name);
  }
  return std::any_of(other.items.begin(), other.items.end(), [&](const auto& item) {
    const auto* name = item.first->template as<std::string>();
    return name != nullptr && names.contains(*name);
  });
}

// Returns the only dict with a name that is usual for a model, if the other dicts share no names with it,
// such as those of a loss. Averages of the model's weights do share its names.
const Candidate* the_model_among(const std::vector<Candidate>& found) {
  constexpr std::array<std::string_view, 4> usual = {"state_dict", "model_state_dict", "model", "net"};
  const auto is_usual = [&](const Candidate& candidate) {
    return std::find(usual.begin(), usual.end(), candidate.under) != usual.end();
  };
  if (std::count_if(found.begin(), found.end(), is_usual) != 1) return nullptr;
  const auto model = std::find_if(found.begin(), found.end(), is_usual);
  for (auto other = found.begin(); other != found.end(); ++other) {
    if (other != model && share_a_name(*model->dict, *other->dict)) return nullptr;
  }
  return &*model;
}

Candidate find_state_dict(const PickleValue& root, const std::string& path) {
  const PickleDict& dict = root_dict(root, path);
  const std::vector<Candidate> found = Search(dict).found();
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    if (dict.items.empty()) return {&dict, "", 0};
    throw Error(fmt::format(
        "{} contains no dict of tensors, but {}; save the model's tensors: torch.save(model.state_dict(), …)",
        path, list_members(dict)));
  }
  if (const Candidate* model = the_model_among(found)) return *model;
  std::vector<std::string> names;
  for (const Candidate& candidate : found) {
    if (names.size() == members_listed_at_most) {
      names.push_back(fmt::format("and {} more", found.size() - names.size()));
      break;
    }
    names.push_back(fmt::format("{} ({} tensors)",
                                candidate.under.empty() ? "the file itself" : '"' + candidate.under + '"',
                                candidate.tensors));
  }
  const Candidate& example = found.back();
  throw Error(
      fmt::format("{} contains several dicts of tensors: {}. Save only the one that you need, for example: "
                  "torch.save(torch.load(FILE)[\"{}\"], NEW_FILE)",
                  path, fmt::join(names, ", "), example.under.substr(0, example.under.find('.'))));
}

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

StateDictIndex index_state_dict(const Pickle& pickle, const std::string& path) {
  const Candidate candidate = find_state_dict(*pickle.root, path);
  TensorReader reader(path);
  StateDictIndex index{.tensors = {}, .under = candidate.under};
  std::set<std::string> names;
  for (const auto& [key, value] : candidate.dict->items) {
    const auto* name = key->as<std::string>();
    if (name == nullptr) throw Error(path + " contains a tensor without a name");
    if (!names.insert(*name).second) {
      throw Error(fmt::format("{} contains two tensors named \"{}\"", path, *name));
    }
    index.tensors.push_back(reader.read(*name, *value));
  }
  return index;
}

}  // namespace thinpipe::trainer
