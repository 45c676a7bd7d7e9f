// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/times_report.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

TEST(TimesReport, SendsTheIterationsOfHalfASecondTogether) {
  std::vector<std::vector<std::int64_t>> sent;
  TimesReport report([&](const Event& event) {
    sent.emplace_back();
    for (const event::WorkerIteration& iteration : std::get<event::WorkerTimes>(event).iterations)
      sent.back().push_back(iteration.iteration);
  });
  report.flush();
  for (std::int64_t i = 1; i <= 7; ++i)
    report.add(
        {.iteration = i, .monotonic_s = 1000 + 0.25 * static_cast<double>(i), .iteration_time_s = 0.25});
  EXPECT_THAT(sent, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
  report.flush();
  report.flush();
  EXPECT_THAT(sent, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6), ElementsAre(7)));
}

}  // namespace
}  // namespace thinpipe::trainer
