// SPDX-License-Identifier: Apache-2.0
// Names of switches and hosts as users write them: single names, groups and ranges.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::netem {

// A node's name and where it was written.
struct PlacedName {
  std::string name;
  Place place;
};

// The nodes that "switches" or "hosts" lists, in order. The value is a group {"w": 8} (w0 to w7), or a list
// of names and groups. Throws InputError for anything else, or if a name is not valid for a device.
class NodeNames {
 public:
  // Reads `value`; lists no nodes if it is null.
  NodeNames(const Json* value, const Place& place);

  const std::vector<PlacedName>& nodes() const { return nodes_; }
  std::vector<std::string> names() const;
  const std::map<std::string, std::vector<std::string>>& groups() const { return groups_; }

 private:
  void add_group(const Json& value, const Place& place);

  std::vector<PlacedName> nodes_;
  std::map<std::string, std::vector<std::string>> groups_;
};

// Returns the nodes at one end of a link: `text` is a node, a group's name, or a range such as "w0..w3". The
// caller checks that the nodes exist.
std::vector<PlacedName> read_end(const std::string& text, const Place& place,
                                 const std::map<std::string, std::vector<std::string>>& groups);

}  // namespace thinpipe::netem
