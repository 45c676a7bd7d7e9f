// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/algorithms/tree_plan.hh"

#include <map>

#include <gtest/gtest.h>

#include "common/protocol/group_options.hh"
#include "trainer/collectives/tests/reduction_tree.hh"

namespace thinpipe::trainer {
namespace {

// Executes a plan on all workers at the same time. Data sent in a step must have arrived before it, and all
// data must finish on all workers.
class Play {
 public:
  Play(const std::vector<int>& parents, std::size_t chunks) : chunks_(chunks) {
    for (std::size_t rank = 0; rank < parents.size(); ++rank) {
      plans_.emplace_back(parents, static_cast<int>(rank), chunks);
      summed_.emplace_back(chunks, plans_.back().children().empty());
      final_.emplace_back(chunks, false);
    }
  }

  void run() {
    for (std::size_t s = 0; s < plans_.front().steps(); ++s) take_step(s);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      EXPECT_EQ(final_[rank], std::vector<bool>(chunks_, true)) << "rank " << rank;
    }
  }

 private:
  void take_step(std::size_t s) {
    const auto summed = summed_;
    const auto final = final_;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      const TreePlan& plan = plans_[rank];
      const TreePlan::Step step = plan.step(s);
      if (step.up) {
        EXPECT_TRUE(summed[rank][*step.up])
            << "step " << s << ", rank " << rank << " sends up a chunk that it does not have";
        EXPECT_EQ(plans_[plan.parent()].step(s).from_children, step.up);
      }
      if (step.from_children) {
        for (const int child : plan.children()) EXPECT_EQ(plans_[child].step(s).up, step.from_children);
        summed_[rank][*step.from_children] = true;
        if (plan.parent() < 0) final_[rank][*step.from_children] = true;
      }
      if (step.from_parent) {
        EXPECT_EQ(plans_[plan.parent()].step(s).down, step.from_parent);
        final_[rank][*step.from_parent] = true;
      }
      if (step.down) {
        EXPECT_TRUE(final[rank][*step.down])
            << "step " << s << ", rank " << rank << " sends down a chunk that it does not have";
      }
    }
  }

  std::size_t chunks_;
  std::vector<TreePlan> plans_;
  std::vector<std::vector<bool>> summed_;
  std::vector<std::vector<bool>> final_;
};

TEST(TreePlan, WhatIsSentIsThereAndEndsEverywhere) {
  for (const int world_size : {2, 3, 8, 13}) {
    const GroupOptions group_options{.world_size = world_size,
                                     .reduction_tree = testing::reduction_tree_for(world_size)};
    for (const std::size_t chunks : {1, 2, 5, 40})
      Play(group_options.reduction_tree_or_binary(), chunks).run();
  }
}

// A chain of four workers, with depth three.
TEST(TreePlan, TakesAStepForEachChunkAndTwiceTheDepth) {
  EXPECT_EQ(TreePlan({-1, 0, 1, 2}, 3, 10).steps(), 10 + 2 * 3 - 1);
}

}  // namespace
}  // namespace thinpipe::trainer
