// The names that a file gives a model's tensors. PyTorch's wrappers put something before each: torch.compile
// "_orig_mod.", DataParallel and AveragedModel "module.", a LightningModule the name of its member, "model."
// or "net.".
#pragma once

#include <set>
#include <string>
#include <vector>

namespace thinpipe::trainer {

// Returns the name without the wrappers that stand for nothing but themselves, wherever they are in it:
// "features._orig_mod.0.weight" is "features.0.weight".
std::string without_wrappers(const std::string& name);

// What stands before the model's names in a file.
struct NamePrefix {
  std::string prefix;  // "" if the names are the model's own
  std::vector<std::string>
      alternatives;  // others after which as many of the model's names come: none may be chosen
};

// Finds the prefix after which the file has most of the names that the model needs. If the file has the most
// without any, that is it.
NamePrefix find_prefix(const std::set<std::string>& needed, const std::set<std::string>& found);

}  // namespace thinpipe::trainer
