// SPDX-License-Identifier: Apache-2.0
// The user's names of links: "left-middle" for both directions, "left->middle" for one, "bottlenecks". Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/support/exception.hh"
#include "netem/topology/shortest_paths.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Returns true if this direction has a cap.
bool is_shaped(const Topology& topology, const DirectedLink& directed_link);

// Returns "left->middle".
std::string name_of(const Topology& topology, const DirectedLink& directed_link);

class LinkNames {
 public:
  // `topology` must outlive this.
  explicit LinkNames(const Topology& topology);

  // Returns the directions that the name means. Throws InputError at `place` if it means none, or more than one link.
  const std::vector<DirectedLink>& find(const std::string& name, const Place& place) const;

 private:
  void add(const std::string& name, const std::vector<DirectedLink>& crossings);

  const Topology& topology_;
  std::map<std::string, std::vector<DirectedLink>> meant_;
  std::vector<std::string> known_;  // those worth suggesting
};

}  // namespace thinpipe::netem
