// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/progress.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

StepReport exchanged(bool applied) {
  return {.applied = applied,
          .section = {.encode_cpu_s = 0.5, .payload_bytes = 10, .sent_bytes = 12, .collectives = 2}};
}

TEST(Progress, CountsStepsAndHowManyInARowWereSkipped) {
  Progress progress;
  progress.add(exchanged(true), 1, 2);
  progress.add(exchanged(false), 1, 4);
  EXPECT_EQ(progress.skipped_in_a_row, 1);
  progress.add({.exchanged = false}, 1, 0);  // a local step tells nothing about the exchange
  EXPECT_EQ(progress.skipped_in_a_row, 1);
  progress.add({.applied = false, .steps = 2}, 1, 0);
  EXPECT_EQ(progress.skipped_in_a_row, 2);
  EXPECT_EQ(progress.skipped, 3);
  progress.add(exchanged(true), 1, 0);
  EXPECT_EQ(progress.skipped_in_a_row, 0);
  EXPECT_EQ(progress.iteration, 5);
  EXPECT_EQ(progress.train_time_s, 5);
  EXPECT_EQ(progress.loss_sum, 6);
  EXPECT_EQ(progress.loss_count, 5);
  EXPECT_EQ(progress.total.payload_bytes, 30);
}

TEST(Progress, GoesOnFromACheckpointButDividesOnlyTimesThatItHas) {
  Progress whole;
  whole.pruning_time_s = 3;
  EXPECT_EQ(whole.mean_s(1), std::nullopt);
  for (const bool applied : {true, true, false}) whole.add(exchanged(applied), 2, 1);
  EXPECT_EQ(whole.mean_s(whole.total.encode_cpu_s), 0.5);
  TensorMap state;
  whole.save(state);

  Progress resumed;
  resumed.load(state);
  EXPECT_EQ(resumed.iteration, 3);
  EXPECT_EQ(resumed.train_time_s, 6);
  EXPECT_EQ(resumed.pruning_time_s, 3);
  EXPECT_EQ(resumed.skipped, 1);
  EXPECT_EQ(resumed.skipped_in_a_row, 1);
  EXPECT_EQ(resumed.loss_sum, 3);
  EXPECT_EQ(resumed.loss_count, 3);
  EXPECT_EQ(resumed.total.payload_bytes, 30);
  EXPECT_EQ(resumed.total.sent_bytes, 36);
  EXPECT_EQ(resumed.total.collectives, 6);
  EXPECT_EQ(resumed.mean_s(resumed.total.encode_cpu_s), std::nullopt);
  resumed.add(exchanged(true), 2, 1);
  EXPECT_EQ(resumed.mean_s(resumed.total.encode_cpu_s), 0.5);
}

}  // namespace
}  // namespace thinpipe::trainer
