// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/state_dict_index.hh"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "trainer/tensors/state_dict_search.hh"

namespace thinpipe::trainer {
namespace {

// A view may repeat its elements, and several views may share them, as tied and expanded weights do. In
// total they may take this much more memory than the file contains; otherwise a tiny file could fill the
// machine's memory.
constexpr std::int64_t repeated_bytes_at_most = std::int64_t{1} << 30;

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
    if (call != nullptr && call->function().starts_with("torch._utils._rebuild_parameter")) {
      call = argument(name, *call, 0).as<PickleCall>();
      // A file may claim that this one is a parameter in turn, even in a circle.
      if (call != nullptr && call->function().starts_with("torch._utils._rebuild_parameter")) {
        fail(name, "is a parameter made of another parameter instead of a tensor");
      }
    }
    if (call == nullptr) fail(name, "is not a tensor");
    const std::string called = call->function();
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

}  // namespace

StateDictIndex index_state_dict(const Pickle& pickle, const std::string& path) {
  const FoundDict found = find_state_dict(*pickle.root, path);
  TensorReader reader(path);
  StateDictIndex index{.tensors = {}, .under = found.under};
  std::set<std::string> names;
  for (const auto& [key, value] : found.dict->items) {
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
