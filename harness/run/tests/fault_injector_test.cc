// SPDX-License-Identifier: Apache-2.0
#include "harness/run/fault_injector.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class RecordedControl : public WorkerControl {
 public:
  void apply(WorkerAction action, std::int64_t rank) override { applied.emplace_back(action, rank); }
  std::vector<std::pair<WorkerAction, std::int64_t>> applied;
};

TEST(FaultInjector, LetsEachEventHappenOnceWhenItIsDue) {
  FaultInjector faults({{.worker = 1, .at_s = 2.0, .action = WorkerAction::pause},
                        {.worker = 1, .at_iteration = 5, .action = WorkerAction::resume}});
  RecordedControl control;
  faults.apply_due(100, 9, 0, control);
  EXPECT_THAT(control.applied, IsEmpty()) << "training has not begun";
  faults.begin(100);
  faults.apply_due(101.9, 3, 1.5, control);
  EXPECT_THAT(control.applied, IsEmpty());
  EXPECT_EQ(faults.apply_due(102.1, 4, 2, control).size(), 1);
  EXPECT_THAT(control.applied, ElementsAre(Pair(WorkerAction::pause, 1)));
  faults.apply_due(103, 5, 2.5, control);
  // After a restart, iterations are counted again, but events do not happen again.
  faults.apply_due(104, 2, 3, control);
  faults.apply_due(105, 5, 4, control);
  EXPECT_THAT(control.applied, ElementsAre(Pair(WorkerAction::pause, 1), Pair(WorkerAction::resume, 1)));
  EXPECT_THAT(faults.missed(), IsEmpty());
  const std::vector<record::WorkerEvent> recorded = faults.recorded();
  EXPECT_EQ(recorded.at(0).action, "pause");
  EXPECT_NEAR(recorded.at(0).happened_s.value(), 2.1, 1e-9);
  EXPECT_EQ(recorded.at(0).iteration, 4);
  EXPECT_EQ(recorded.at(1).train_time_s, 2.5);
}

TEST(FaultInjector, ASlowdownIsTheWorkersOwnAndWhatDidNotHappenIsToldSo) {
  FaultInjector faults({{.worker = 0, .at_iteration = 0, .slowdown = 2.0},
                        {.worker = 2, .at_s = 60.0, .action = WorkerAction::kill}});
  RecordedControl control;
  faults.begin(0);
  faults.apply_due(1, 0, 0, control);
  EXPECT_THAT(control.applied, IsEmpty());
  EXPECT_EQ(faults.recorded().at(0).iteration, 0);
  ASSERT_EQ(faults.missed().size(), 1);
  EXPECT_EQ(faults.missed().front().worker, 2);
  EXPECT_EQ(faults.recorded().at(1).happened_s, std::nullopt);
}

}  // namespace
}  // namespace thinpipe
