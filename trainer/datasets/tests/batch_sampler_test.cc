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

}  // namespace
}  // namespace thinpipe::trainer
