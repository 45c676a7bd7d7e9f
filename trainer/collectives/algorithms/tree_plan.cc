// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/algorithms/tree_plan.hh"

#include <algorithm>

namespace thinpipe::trainer {
namespace {

std::size_t depth_of(const std::vector<int>& parents, int rank) {
  std::size_t depth = 0;
  for (int at = rank; parents.at(static_cast<std::size_t>(at)) >= 0;
       at = parents[static_cast<std::size_t>(at)])
    ++depth;
  return depth;
}

}  // namespace

TreePlan::TreePlan(const std::vector<int>& parents, int rank, std::size_t chunks)
    : parent_(parents.at(static_cast<std::size_t>(rank))), chunks_(chunks), depth_(depth_of(parents, rank)) {
  for (std::size_t other = 0; other < parents.size(); ++other) {
    if (parents[other] == rank) children_.push_back(static_cast<int>(other));
    max_depth_ = std::max(max_depth_, depth_of(parents, static_cast<int>(other)));
  }
}

std::size_t TreePlan::steps() const {
  return chunks_ + 2 * max_depth_ - 1;
}

TreePlan::Step TreePlan::step(std::size_t s) const {
  const auto chunk = [&](std::size_t first_step) -> std::optional<std::size_t> {
    if (s < first_step || s - first_step >= chunks_) return std::nullopt;
    return s - first_step;
  };
  Step step;
  if (parent_ >= 0) {
    step.up = chunk(max_depth_ - depth_);
    step.from_parent = chunk(max_depth_ + depth_ - 1);
  }
  if (!children_.empty()) {
    step.from_children = chunk(max_depth_ - depth_ - 1);
    step.down = chunk(max_depth_ + depth_);
  }
  return step;
}

}  // namespace thinpipe::trainer
