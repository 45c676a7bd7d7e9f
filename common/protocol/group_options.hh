// SPDX-License-Identifier: Apache-2.0
// A worker's rank in its group, and how to reach the others.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe {

// The information that a backend needs to find its peers.
struct GroupOptions {
  int rank = 0;
  int world_size = 1;
  std::string address = {};               // this worker's address, to which all its traffic is bound
  std::string rendezvous_directory = {};  // an empty directory that all workers share
  // Ports of the first worker's address, one of which it listens at; empty: the workers meet in the directory.
  std::vector<std::string> rendezvous_addresses = {};
  // The reduction tree: each worker's parent, or -1 for the root. It crosses the network's bottlenecks as
  // rarely as possible. Empty if the network is unknown.
  std::vector<int> reduction_tree = {};

  bool operator==(const GroupOptions&) const = default;

  void visit(auto& field) {
    field("rank", rank, Rule{.effect = "this worker's rank", .at_least = 0, .required = true});
    field("world_size", world_size,
          Rule{.effect = "number of workers",
               .above = static_cast<double>(rank),
               .at_most = std::numeric_limits<int>::max(),
               .required = true});
    field("address", address, Rule{.effect = "its address, to bind all traffic to", .required = true});
    field("rendezvous_directory", rendezvous_directory,
          Rule{.effect = "folder that all workers share, empty at the start", .required = true});
    field("rendezvous_addresses", rendezvous_addresses,
          Rule{.effect = "ports of the first worker's address where workers meet; empty: in the folder"});
    field("reduction_tree", reduction_tree,
          Rule{.effect = "reduction tree: each worker's parent, -1 for the root; empty: unknown"});
  }

  // Returns `reduction_tree`, or a binary tree if the network is unknown.
  std::vector<int> reduction_tree_or_binary() const;
};

// Throws InputError at `place` unless `reduction_tree` is empty or a reduction tree of that many workers.
void check_tree(const std::vector<int>& reduction_tree, std::int64_t world_size, const Place& place);

}  // namespace thinpipe
