// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/straggler.hh"

#include <thread>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(Straggler, TheLatestSlowdownThatHasBegunIsInForce) {
  Straggler straggler({{.at_iteration = 3, .factor = 2}, {.at_iteration = 5, .factor = 1}});
  for (const auto& [iterations, factor] :
       {std::pair{0, 1.0}, {2, 1.0}, {3, 2.0}, {4, 2.0}, {5, 1.0}, {9, 1.0}}) {
    straggler.begin_step(iterations);
    EXPECT_EQ(straggler.factor(), factor) << "after " << iterations;
  }
}

// A sleep may last longer than requested, but never shorter.
TEST(Straggler, AStretchTakesAtLeastSoManyTimesAsLong) {
  Straggler straggler({{.at_iteration = 0, .factor = 4}});
  const Stopwatch whole;
  straggler.begin_step(0);
  for (int stretch = 0; stretch < 2; ++stretch) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    straggler.catch_up();
  }
  EXPECT_GE(whole.elapsed_s(), 2 * 4 * 0.01);
}

}  // namespace
}  // namespace thinpipe::trainer
