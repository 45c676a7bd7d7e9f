// SPDX-License-Identifier: Apache-2.0
// The file format of torch.save before PyTorch 1.6: five pickles (a magic number, the version, the machine,
// the object, the keys of the storages), then for each key the number of elements, int64, and the elements.
// Without LibTorch, so that it can be fuzzed.
#pragma once

#include <map>
#include <span>

#include "trainer/tensors/state_dict_index.hh"

namespace thinpipe::trainer {

// Returns whether a file with this beginning has this format, in any pickle protocol. Some 40 bytes suffice.
bool begins_as_legacy_file(std::string_view beginning);

struct LegacyFile {
  StateDictIndex index;
  std::map<std::string, std::span<const char>> elements;  // by the key of the storage
};

// Returns elements as parts of `bytes`. Throws Error naming the path and the damaged or unsupported part.
LegacyFile read_legacy_file(std::span<const char> bytes, const std::string& path);

}  // namespace thinpipe::trainer
