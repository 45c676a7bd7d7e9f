// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/balanced_batches.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

torch::Tensor tensor(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

TEST(BalancedBatches, TakeTheNextExamplesOfEveryClassInOrder) {
  //                                 0  1  2  3  4  5  6  7
  const torch::Tensor labels = tensor({7, 3, 3, 7, 7, 3, 3, 7}).to(torch::kUInt8);
  const auto batches = class_balanced_batches(labels, {6, 7, 0, 5, 1, 4, 3, 2}, 2, 2);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_TRUE(batches[0].equal(tensor({0, 5, 6, 7})));
  EXPECT_TRUE(batches[1].equal(tensor({1, 2, 3, 4})));
}

TEST(BalancedBatches, NameTheClassThatHasTooFewExamples) {
  const torch::Tensor labels = tensor({0, 0, 0, 0, 5, 5, 5});
  EXPECT_NO_THROW(class_balanced_batches(labels, {0, 1, 2, 3, 4, 5, 6}, 3, 1));
  EXPECT_THAT(
      [&] {
        class_balanced_batches(labels, {0, 1, 2, 3, 4, 5, 6}, 2, 2);
      },
      ThrowsMessage<Error>(HasSubstr("class 5 has 3 training examples, but 2 batches of 2 need 4")));
}

}  // namespace
}  // namespace thinpipe::trainer
