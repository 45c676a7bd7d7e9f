// Which of a group's workers this one is, and where the others are.
#pragma once

#include <string>
#include <vector>

namespace thinpipe::trainer {

// What a backend needs to find its peers.
struct Membership {
  int rank = 0;
  int world_size = 1;
  std::string address = {};               // this worker's address: all traffic is bound to it
  std::string rendezvous_directory = {};  // an empty directory that all workers share
  // Of each worker in a tree that crosses the network's bottlenecks as seldom as can be; -1 at the root.
  // Empty: nothing is known of the network.
  std::vector<int> parents = {};

  // Those, or where nothing is known a binary tree's.
  std::vector<int> tree() const;
};

}  // namespace thinpipe::trainer
