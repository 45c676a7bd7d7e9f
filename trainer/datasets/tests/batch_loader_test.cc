// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/batch_loader.hh"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/support/exception.hh"
#include "trainer/base/process.hh"
#include "trainer/datasets/augmentation.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Images that hold their example's index. A call of prepare() can be made to fail.
class Numbered : public Dataset {
 public:
  explicit Numbered(std::int64_t examples, const Augmentation& augmentation = {})
      : augmentation_(augmentation) {
    const torch::Tensor numbers = torch::arange(examples);
    examples_ = {numbers.to(torch::kUInt8).view({-1, 1, 1, 1}).repeat({1, 1, 4, 4}),
                 numbers.to(torch::kUInt8)};
    examples_.inputs.select(3, 0).fill_(255);  // makes a flip visible
  }

  DataShape shape() const override { return {.channels = 1, .height = 4, .width = 4, .classes = 256}; }
  const Examples& train() const override { return examples_; }
  const Examples& test() const override { return examples_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override {
    EXPECT_FALSE(torch::GradMode::is_enabled() && loading_);
    niceness_ = this_threads_niceness();
    if (++calls_ == failing_call_) throw Error("cannot prepare");
    return inputs.to(torch::kFloat32) / 2;
  }
  Augmentation augmentation() const override { return augmentation_; }

  // call: counted from 1, starting now.
  void fail_in_call(int call) {
    calls_ = 0;
    failing_call_ = call;
  }
  void expect_no_gradients() { loading_ = true; }

  static int this_threads_niceness() { return ::getpriority(PRIO_PROCESS, 0); }
  // Niceness of the thread that called prepare() last.
  int niceness() const { return niceness_; }

 private:
  Augmentation augmentation_;
  Examples examples_;
  mutable std::atomic<int> calls_ = 0;
  mutable std::atomic<int> niceness_ = 0;
  int failing_call_ = 0;
  bool loading_ = false;
};

const BatchSampler::Options options{
    .examples = 40, .batch_size_per_worker = 4, .rank = 1, .world_size = 2, .seed = 7};

// Returns the batch without prefetching.
Batch expected(const Dataset& dataset, std::int64_t iteration) {
  BatchSampler sampler(options);
  const std::int64_t epoch = iteration / sampler.batches_per_epoch();
  const torch::Tensor chosen = sampler.batch(epoch, iteration % sampler.batches_per_epoch());
  const torch::Tensor inputs = augment(dataset.train().inputs.index_select(0, chosen), chosen,
                                       dataset.augmentation(), {.seed = options.seed, .epoch = epoch});
  return {dataset.prepare(inputs), dataset.train().labels.index_select(0, chosen).to(torch::kInt64)};
}

void expect_same(const Batch& batch, const Batch& other) {
  EXPECT_TRUE(batch.inputs.equal(other.inputs));
  EXPECT_TRUE(batch.labels.equal(other.labels));
}

TEST(BatchLoader, GivesTheBatchesOfTheSamplerEpochAfterEpoch) {
  Numbered dataset(40, {.crop_padding = 1, .flip = true});
  BatchLoader loader(dataset, options);
  EXPECT_EQ(loader.batches_per_epoch(), 5);
  for (std::int64_t iteration = 0; iteration < 12; ++iteration) {
    expect_same(loader.load(iteration), expected(dataset, iteration));
  }
}

TEST(BatchLoader, TakesIterationsInAnyOrder) {
  Numbered dataset(40, {.crop_padding = 1, .flip = true});
  BatchLoader loader(dataset, options);
  for (const std::int64_t iteration : {3, 4, 4, 0, 11, 12, 2, 3}) {
    expect_same(loader.load(iteration), expected(dataset, iteration));
  }
}

TEST(BatchLoader, WithoutAugmentationGivesTheExamplesAsTheyAre) {
  const Numbered dataset(40);
  BatchLoader loader(dataset, options);
  const Batch batch = loader.load(1);
  EXPECT_EQ(batch.inputs.scalar_type(), torch::kFloat32);
  EXPECT_EQ(batch.labels.scalar_type(), torch::kInt64);
  EXPECT_TRUE(
      (batch.inputs * 2).select(3, 1).select(2, 0).select(1, 0).to(torch::kInt64).equal(batch.labels));
}

TEST(BatchLoader, AnEpochsBatchesDifferFromTheNext) {
  const Numbered dataset(40);
  BatchLoader loader(dataset, options);
  EXPECT_FALSE(loader.load(0).labels.equal(loader.load(5).labels));
}

TEST(BatchLoader, AugmentsEachPassOverAnOwnPartAnew) {
  const Numbered dataset(40, {.crop_padding = 1, .flip = true});
  BatchSampler::Options own = options;
  own.own_part = {3, 8, 11};
  BatchLoader loader(dataset, own);
  const Batch batch = loader.load(2);  // entries 8 to 11: pass 2, then pass 3
  BatchSampler sampler(own);
  const auto selections = sampler.select(2);
  ASSERT_EQ(selections.size(), 2U);
  std::vector<torch::Tensor> inputs;
  for (const auto& [examples, pass] : selections) {
    inputs.push_back(augment(dataset.train().inputs.index_select(0, examples), examples,
                             dataset.augmentation(), {.seed = own.seed, .epoch = pass}));
  }
  expect_same(batch, {dataset.prepare(torch::cat(inputs)),
                      torch::cat({selections[0].examples, selections[1].examples})});
}

TEST(BatchLoader, RecordsNoGradients) {
  Numbered dataset(40);
  dataset.expect_no_gradients();
  BatchLoader loader(dataset, options);
  for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
    EXPECT_FALSE(loader.load(iteration).inputs.requires_grad());
  }
}

TEST(BatchLoader, TellsWhatTheBatchThatWasMadeAheadTook) {
  Numbered dataset(40);
  BatchLoader loader(dataset, options);
  loader.load(0);
  EXPECT_EQ(loader.prefetch_cpu_s(), 0);
  loader.load(1);
  EXPECT_GT(loader.prefetch_cpu_s(), 0);
  loader.load(4);
  EXPECT_EQ(loader.prefetch_cpu_s(), 0);
}

// With more workers than cores, a batch would otherwise wait for the compute of other workers.
TEST(BatchLoader, MakesBatchesAtThePriorityThatItsMakerHad) {
  Numbered dataset(40);
  std::thread([&] {
    const int before = Numbered::this_threads_niceness();
    BatchLoader loader(dataset, options);
    lower_this_threads_priority();
    loader.load(0);
    loader.load(1);
    loader.load(2);
    EXPECT_EQ(dataset.niceness(), before);
  }).join();
}

TEST(BatchLoader, RefusesADataSetSmallerThanAGlobalBatch) {
  const Numbered dataset(7);
  BatchSampler::Options small = options;
  small.examples = 7;
  EXPECT_THROW(BatchLoader(dataset, small), Error);
}

TEST(BatchLoader, ReportsAFailureAndGoesOn) {
  Numbered dataset(40);
  const Batch first = expected(dataset, 0);
  BatchLoader loader(dataset, options);
  dataset.fail_in_call(1);
  EXPECT_THAT([&] { loader.load(0); }, ThrowsMessage<Error>(HasSubstr("cannot prepare")));
  expect_same(loader.load(0), first);
}

TEST(BatchLoader, ReportsAFailureOfTheBatchMadeAheadWhenItIsAskedFor) {
  Numbered dataset(40);
  const Batch first = expected(dataset, 0);
  const Batch second = expected(dataset, 1);
  BatchLoader loader(dataset, options);
  dataset.fail_in_call(2);
  expect_same(loader.load(0), first);
  EXPECT_THAT([&] { loader.load(1); }, ThrowsMessage<Error>(HasSubstr("cannot prepare")));
  expect_same(loader.load(1), second);
}

TEST(BatchLoader, ForgetsAFailureOfABatchThatNobodyAsksFor) {
  Numbered dataset(40);
  const Batch other = expected(dataset, 7);
  {
    BatchLoader loader(dataset, options);
    dataset.fail_in_call(2);
    loader.load(0);
    expect_same(loader.load(7), other);
  }
  {
    BatchLoader loader(dataset, options);
    dataset.fail_in_call(2);
    loader.load(0);
  }
}

TEST(PrepareBatch, TakesAStretchOfAPart) {
  const Numbered dataset(40);
  const Batch batch = prepare_batch(dataset, dataset.test(), 5, 3);
  EXPECT_TRUE(batch.labels.equal(torch::tensor({5, 6, 7}, torch::kInt64)));
  EXPECT_TRUE(batch.inputs.equal(dataset.prepare(dataset.test().inputs.narrow(0, 5, 3))));
}

}  // namespace
}  // namespace thinpipe::trainer
