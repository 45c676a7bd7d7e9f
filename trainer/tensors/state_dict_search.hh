// SPDX-License-Identifier: Apache-2.0
// The search for the dict of tensors in a PyTorch file, which may be a checkpoint with several dicts.
#pragma once

#include <string>

#include "trainer/tensors/pickle.hh"

namespace thinpipe::trainer {

struct FoundDict {
  const PickleDict* dict;
  std::string under;    // the names that lead to it, "ema.model"; "" if it is the whole file
  std::size_t tensors;  // number of its tensors
};

// Returns the whole file, or the only dict of tensors among its inner dicts, not counting optimisers'. Throws
// Error naming the path unless there is exactly one; the error lists the file's contents.
FoundDict find_state_dict(const PickleValue& root, const std::string& path);

}  // namespace thinpipe::trainer
