// Python's pickle format, as far as files of tensors use it. Reading one runs nothing: where Python would
// call a function or make an object, the call is kept as a note of itself.
// https://docs.python.org/3/library/pickletools.html
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace thinpipe::trainer {

struct PickleValue;

struct PickleSequence {  // a tuple, list or set
  std::vector<const PickleValue*> items;
};

struct PickleDict {  // also an OrderedDict
  std::vector<std::pair<const PickleValue*, const PickleValue*>> items;

  // The value under a name, or nullptr; of several the last, as in Python.
  const PickleValue* find(std::string_view name) const;
};

struct PickleGlobal {  // a function or class
  std::string name;    // "module.name"
};

struct PickleCall {
  const PickleValue* callee;
  const PickleValue* arguments;
  const PickleValue* state = nullptr;  // what the result is told to take on, if anything
};

struct PickleReference {  // to what the file keeps outside the pickle
  const PickleValue* id;
};

struct PickleOther {};  // None, bytes, and whole numbers of more than 64 bits

struct PickleValue {
  std::variant<PickleOther, bool, std::int64_t, double, std::string, PickleSequence, PickleDict, PickleGlobal,
               PickleCall, PickleReference>
      content;

  // The content when it is of that kind, or nullptr.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&content);
  }
};

// Values point to each other, in circles if the file says so; the pickle owns them all.
struct Pickle {
  Pickle() = default;
  ~Pickle() = default;
  Pickle(const Pickle&) = delete;  // the copies would point into what they were copied from
  Pickle& operator=(const Pickle&) = delete;
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  std::deque<PickleValue> values;
  const PickleValue* root = nullptr;
  std::size_t size = 0;  // bytes it took
};

// Reads the pickle that `bytes` begin with; what follows it is left alone. Throws Error naming `source` and
// the byte when it is damaged or uses what files of tensors do not.
Pickle read_pickle(std::span<const char> bytes, const std::string& source);

}  // namespace thinpipe::trainer
