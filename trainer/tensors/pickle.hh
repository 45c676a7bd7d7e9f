// SPDX-License-Identifier: Apache-2.0
// The part of Python's pickle format that files of tensors use. Reading a pickle runs no code: a call of a
// function or a constructor is kept as a record of the call.
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

  // Returns the value of a key, or nullptr; if there are several, the last, as in Python.
  const PickleValue* find(std::string_view name) const;
};

struct PickleGlobal {  // a function or class
  std::string name;    // "module.name"
};

struct PickleCall {
  const PickleValue* callee;
  const PickleValue* arguments;
  const PickleValue* state = nullptr;  // the argument of the result's __setstate__, if any

  // Returns "module.name" of the callee; "" if it is not a function or class.
  std::string function() const;
};

struct PickleReference {  // to data outside the pickle
  const PickleValue* id;
};

struct PickleOther {};  // None, bytes, and whole numbers of more than 64 bits

struct PickleValue {
  std::variant<PickleOther, bool, std::int64_t, double, std::string, PickleSequence, PickleDict, PickleGlobal,
               PickleCall, PickleReference>
      content;

  // Returns the content if it is of that kind, otherwise nullptr.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&content);
  }
};

// Values point to each other, in circles if the file does so; the pickle owns them all.
struct Pickle {
  Pickle() = default;
  ~Pickle() = default;
  Pickle(const Pickle&) = delete;  // the values of a copy would point into the original
  Pickle& operator=(const Pickle&) = delete;
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  std::deque<PickleValue> values;
  const PickleValue* root = nullptr;
  std::size_t size = 0;  // number of bytes read
};

// Reads the pickle at the beginning of `bytes` and ignores the bytes after it. Throws Error naming `source`
// and the byte if the pickle is damaged or uses opcodes that do not occur in files of tensors.
Pickle read_pickle(std::span<const char> bytes, const std::string& source);

}  // namespace thinpipe::trainer
