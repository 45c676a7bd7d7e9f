// This worker's rank in its group, and how to reach the others.
#pragma once

#include <string>
#include <vector>

namespace thinpipe::trainer {

// The information a backend needs to find its peers.
struct Membership {
  int rank = 0;
  int world_size = 1;
  std::string address = {};               // this worker's address, to which all its traffic is bound
  std::string rendezvous_directory = {};  // an empty directory that all workers share
  // The reduction tree: each worker's parent, or -1 for the root. It crosses the network's bottlenecks as
  // rarely as possible. Empty if the network is unknown.
  std::vector<int> parents = {};

  // Returns `parents`, or those of a binary tree if the network is unknown.
  std::vector<int> tree() const;
};

}  // namespace thinpipe::trainer
