// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/batch_sampler.hh"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

std::vector<std::int64_t> values(const torch::Tensor& indices) {
  return {indices.data_ptr<std::int64_t>(), indices.data_ptr<std::int64_t>() + indices.numel()};
}

TEST(BatchSampler, WorkersTogetherSeeWhatOneWorkerWithTheGlobalBatchSees) {
  for (const std::int64_t world : {1, 2, 3, 5, 8}) {
    BatchSampler alone({.examples = 1003, .batch_size_per_worker = 4 * world, .seed = 3});
    std::vector<BatchSampler> workers;
    for (std::int64_t rank = 0; rank < world; ++rank) {
      workers.emplace_back(BatchSampler::Options{
          .examples = 1003, .batch_size_per_worker = 4, .rank = rank, .world_size = world, .seed = 3});
    }
    for (const std::int64_t epoch : {0, 1}) {
      for (std::int64_t iteration = 0; iteration < alone.batches_per_epoch(); ++iteration) {
        std::vector<torch::Tensor> batches;
        for (BatchSampler& worker : workers) batches.push_back(worker.batch(epoch, iteration));
        ASSERT_TRUE(torch::cat(batches).equal(alone.batch(epoch, iteration)));
      }
    }
  }
}

TEST(BatchSampler, AnEpochRepeatsNoExampleAndDropsTheLastPartialGlobalBatch) {
  BatchSampler sampler({.examples = 23, .batch_size_per_worker = 3, .rank = 1, .world_size = 2});
  EXPECT_EQ(sampler.batches_per_epoch(), 3);
  std::set<std::int64_t> seen;
  for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
    for (const std::int64_t index : values(sampler.batch(0, iteration))) {
      EXPECT_TRUE(seen.insert(index).second);
      EXPECT_LT(index, 23);
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_THROW(sampler.batch(0, 3), c10::Error);
}

TEST(BatchSampler, EpochsMayBeAskedForInAnyOrder) {
  BatchSampler sampler({.examples = 100, .batch_size_per_worker = 10});
  const auto first = values(sampler.batch(0, 5));
  EXPECT_NE(values(sampler.batch(1, 5)), first);
  EXPECT_EQ(values(sampler.batch(0, 5)), first);
}

TEST(BatchSampler, RefusesADataSetSmallerThanAGlobalBatch) {
  EXPECT_EQ(BatchSampler({.examples = 64, .batch_size_per_worker = 32, .world_size = 2}).batches_per_epoch(),
            1);
  EXPECT_THROW(BatchSampler({.examples = 63, .batch_size_per_worker = 32, .world_size = 2}), Error);
}

// Returns the selected examples of an iteration, in order.
std::vector<std::int64_t> selected(BatchSampler& sampler, std::int64_t iteration) {
  std::vector<torch::Tensor> stretches;
  for (const Selection& selection : sampler.select(iteration)) stretches.push_back(selection.examples);
  return values(torch::cat(stretches));
}

TEST(BatchSampler, SelectsTheBatchesOfSharedExamplesEpochByEpoch) {
  BatchSampler sampler({.examples = 23, .batch_size_per_worker = 3, .rank = 1, .world_size = 2, .seed = 5});
  for (const std::int64_t iteration : {0, 2, 3, 7}) {
    const auto selections = sampler.select(iteration);
    ASSERT_EQ(selections.size(), 1U);
    EXPECT_EQ(selections[0].pass, iteration / 3);
    EXPECT_TRUE(selections[0].examples.equal(sampler.batch(iteration / 3, iteration % 3)));
  }
}

BatchSampler with_part(std::vector<std::int64_t> part, std::int64_t rank = 1) {
  return BatchSampler({.examples = 24,
                       .batch_size_per_worker = 4,
                       .rank = rank,
                       .world_size = 2,
                       .seed = 5,
                       .own_part = std::move(part)});
}

TEST(BatchSampler, PassesOverItsOwnPartAgainAndAgain) {
  const std::vector<std::int64_t> part = {2, 3, 5, 7, 11, 13};
  BatchSampler sampler = with_part(part);
  EXPECT_EQ(sampler.batches_per_epoch(), 3) << "as for iid";
  std::vector<std::int64_t> sequence;
  for (std::int64_t iteration = 0; iteration < 6; ++iteration) {
    const auto batch = selected(sampler, iteration);
    EXPECT_EQ(batch.size(), 4U);
    sequence.insert(sequence.end(), batch.begin(), batch.end());
  }
  std::set<std::vector<std::int64_t>> orders;
  for (auto pass = sequence.begin(); pass != sequence.end(); pass += 6) {
    EXPECT_THAT(std::vector(pass, pass + 6), testing::UnorderedElementsAreArray(part));
    orders.emplace(pass, pass + 6);
  }
  EXPECT_EQ(orders.size(), 4U) << "a new order in each pass";
  EXPECT_THAT(selected(sampler, 1), testing::ElementsAreArray(sequence.begin() + 4, sequence.begin() + 8))
      << "iterations in any order";
}

TEST(BatchSampler, MarksThePassesOfABatch) {
  BatchSampler sampler = with_part({2, 3, 5, 7, 11, 13});
  const auto selections = sampler.select(1);  // entries 4 to 7
  ASSERT_EQ(selections.size(), 2U);
  EXPECT_EQ(selections[0].pass, 0);
  EXPECT_EQ(selections[0].examples.numel(), 2);
  EXPECT_EQ(selections[1].pass, 1);
  EXPECT_EQ(selections[1].examples.numel(), 2);
  BatchSampler of_one = with_part({9});
  EXPECT_THAT(selected(of_one, 7), testing::ElementsAre(9, 9, 9, 9));
  EXPECT_EQ(of_one.select(7).back().pass, 31);
}

TEST(BatchSampler, WorkersPermuteTheirPartsIndependently) {
  BatchSampler one = with_part({0, 1, 2, 3, 4, 5, 6, 7}, 0);
  BatchSampler other = with_part({0, 1, 2, 3, 4, 5, 6, 7}, 1);
  EXPECT_NE(selected(one, 0), selected(other, 0));
}

}  // namespace
}  // namespace thinpipe::trainer
