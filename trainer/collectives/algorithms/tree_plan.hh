// SPDX-License-Identifier: Apache-2.0
// The reduction tree of the "island" backend as messages between GPUs. Sums go up while results come down,
// one chunk per step. Each edge is busy in both directions, except while the tree fills and drains. The plan
// contains only the schedule and needs no GPU.
//
// With C chunks, a tree of depth D, and a worker at depth d: in step s it sends chunk s - (D - d) up and
// chunk s - (D + d) down. It receives its neighbours' chunks of that step. There are C + 2 D - 1 steps.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace thinpipe::trainer {

class TreePlan {
 public:
  // Plans for worker `rank`. parents: as GroupOptions::reduction_tree, not empty. chunks: at least 1.
  TreePlan(const std::vector<int>& parents, int rank, std::size_t chunks);

  int parent() const { return parent_; }                          // -1 for the root
  const std::vector<int>& children() const { return children_; }  // ascending

  // The chunks to send and receive in a step, if any.
  struct Step {
    std::optional<std::size_t> up;             // summed, to the parent
    std::optional<std::size_t> from_children;  // their sums, to be added on arrival
    std::optional<std::size_t> from_parent;    // final
    std::optional<std::size_t> down;           // final, to the children
  };
  std::size_t steps() const;
  Step step(std::size_t s) const;

 private:
  int parent_;
  std::vector<int> children_;
  std::size_t chunks_;
  std::size_t max_depth_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace thinpipe::trainer
