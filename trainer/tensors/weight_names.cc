// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/weight_names.hh"

#include <array>
#include <map>
#include <string_view>

namespace thinpipe::trainer {

std::string without_wrappers(const std::string& name) {
  // Wrappers of torch.compile, FullyShardedDataParallel and its checkpointing.
  constexpr std::array<std::string_view, 3> wrappers = {"_orig_mod.", "_fsdp_wrapped_module.",
                                                        "_checkpoint_wrapped_module."};
  std::string out;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t dot = name.find('.', begin);
    const std::size_t end = dot == std::string::npos ? name.size() : dot + 1;
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    bool is_wrapper = false;
    for (const std::string_view wrapper : wrappers) is_wrapper = is_wrapper || part == wrapper;
    if (!is_wrapper) out += part;
    begin = end;
  }
  return out;
}

NamePrefix find_prefix(const std::set<std::string>& needed, const std::set<std::string>& found) {
  std::map<std::string, std::size_t> matches;
  for (const std::string& name : found) {
    for (std::size_t begin = 0; begin != std::string::npos;) {
      if (needed.contains(name.substr(begin))) ++matches[name.substr(0, begin)];
      const std::size_t dot = name.find('.', begin);
      begin = dot == std::string::npos ? dot : dot + 1;
    }
  }
  std::size_t most = 0;
  for (const auto& [prefix, count] : matches) most = std::max(most, count);
  NamePrefix best;
  for (const auto& [prefix, count] : matches) {
    if (count != most) continue;
    if (prefix.empty()) return {};
    best.alternatives.push_back(prefix);
  }
  if (best.alternatives.size() == 1) {
    best.prefix = best.alternatives[0];
    best.alternatives.clear();
  }
  return best;
}

}  // namespace thinpipe::trainer
