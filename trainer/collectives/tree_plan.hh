// The tree of the "island" backend as messages between GPUs: sums go up while results come down, a chunk a
// step, so that each edge is busy in both directions all the time but for filling and draining the tree.
// Nothing but what to do when, without a GPU.
//
// With C chunks, a tree of depth D, and a worker at depth d: in step s it sends chunk s - (D - d) up and
// chunk s - (D + d) down, and takes in what its neighbours send in that step. C + 2 D - 1 steps in all.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace thinpipe::trainer {

class TreePlan {
 public:
  // Of worker `rank`. parents: as Membership::parents, a tree. chunks: at least 1.
  TreePlan(const std::vector<int>& parents, int rank, std::size_t chunks);

  int parent() const { return parent_; }                          // -1: this is the root
  const std::vector<int>& children() const { return children_; }  // ascending

  // Which chunk goes where in a step, if any.
  struct Step {
    std::optional<std::size_t> up;             // summed, to the parent
    std::optional<std::size_t> from_children;  // their sums: to be added when they are there
    std::optional<std::size_t> from_parent;    // final
    std::optional<std::size_t> down;           // final, to the children
  };
  std::size_t steps() const;
  Step step(std::size_t s) const;

 private:
  int parent_;
  std::vector<int> children_;
  std::size_t chunks_;
  std::size_t deepest_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace thinpipe::trainer
