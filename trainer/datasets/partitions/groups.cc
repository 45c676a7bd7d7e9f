// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/partitions/groups.hh"

#include <algorithm>
#include <map>

namespace thinpipe::trainer {

std::vector<Group> group_by(const std::vector<std::int64_t>& keys) {
  std::map<std::int64_t, Group> by_key;
  for (std::size_t i = 0; i < keys.size(); ++i) by_key[keys[i]].push_back(static_cast<std::int64_t>(i));
  std::vector<Group> groups;
  for (auto& [unused, group] : by_key) groups.push_back(std::move(group));
  return groups;
}

std::vector<Group> group_by_class(const std::vector<std::int64_t>& classes, const Place& partition) {
  if (classes.empty()) {
    throw InputError(partition / "name",
                     "divides examples by their class, but in this data set every token has a label; use "
                     "by_source or iid");
  }
  return group_by(classes);
}

bool all_have_examples(const Parts& parts) {
  return std::ranges::none_of(parts, [](const Group& part) { return part.empty(); });
}

Parts sorted(Parts parts) {
  for (Group& part : parts) std::ranges::sort(part);
  return parts;
}

}  // namespace thinpipe::trainer
