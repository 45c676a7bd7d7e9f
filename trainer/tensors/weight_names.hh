// SPDX-License-Identifier: Apache-2.0
// The names of a model's tensors in a file. PyTorch's wrappers add prefixes: torch.compile "_orig_mod.",
// DataParallel and AveragedModel "module.", a LightningModule the name of its member, "model." or "net.".
#pragma once

#include <set>
#include <string>
#include <vector>

namespace thinpipe::trainer {

// Returns the name without the wrappers that only torch adds, wherever they occur in it:
// "features._orig_mod.0.weight" becomes "features.0.weight".
std::string without_wrappers(const std::string& name);

// The prefix of the model's names in a file.
struct NamePrefix {
  std::string prefix;                     // "" if the names are the model's own
  std::vector<std::string> alternatives;  // other prefixes with as many of the model's names: ambiguous
};

// Finds the prefix with which the file contains most of the names that the model needs. In a tie "" wins;
// without it, all prefixes of the tie are alternatives.
NamePrefix find_prefix(const std::set<std::string>& needed, const std::set<std::string>& found);

}  // namespace thinpipe::trainer
