// SPDX-License-Identifier: Apache-2.0
// thinpipe run beside flows that are not the workers'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

Json beside(const Json& flows) {
  return {{"topology", "three-switch"},
          {"bottleneck", {{"rate", "50 Mbit/s"}}},
          {"iterations", 100},  // of 2 s in all, so that a moment more or less hardly counts
          {"iteration_time", "20 ms"},
          {"cross_traffic", flows}};
}

TEST(CrossTrafficOfARun, IsInTheRecordAndPartOfTheLinksBytes) {
  const Program program;
  const auto ended = program.run(program.run_arguments(program.experiment(
      beside({{{"from", "w0"}, {"to", "w7"}, {"rate", "10 Mbit/s"}}, {{"from", "w7"}, {"to", "w0"}}}))));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  const Json& flows = record.at("cross_traffic");
  ASSERT_EQ(flows.size(), 2);
  EXPECT_EQ(flows[0].at("from"), "w0");
  EXPECT_EQ(flows[1].at("to"), "w0");
  // The other test compares a flow's bytes with the kernel's counters. Here the links count a bit longer, or shorter.
  const Json& wire = record.at("traffic").at("wire_bytes");
  for (const auto& [flow, direction] : {std::pair(0, "left->middle"), std::pair(1, "right->middle")}) {
    EXPECT_GT(flows[static_cast<std::size_t>(flow)].at("received_bytes"), 0);
    EXPECT_GE(wire.at(direction).get<double>(),
              0.7 * flows[static_cast<std::size_t>(flow)].at("sent_bytes").get<double>())
        << direction;
  }
  EXPECT_EQ(record.at("config").at("cross_traffic")[0],
            Json({{"from", "w0"}, {"to", "w7"}, {"rate", "10 Mbit/s"}, {"on", nullptr}, {"off", nullptr}}));
}

// A worker that fails after the last iteration: all iterations are repeated, beside the same flows.
TEST(CrossTrafficOfARun, IsThereWhenTheLastIterationIsRepeated) {
  const Program program;
  Json base = beside({{{"from", "w0"}, {"to", "w7"}, {"rate", "10 Mbit/s"}}});
  base.update({{"fault", {{"kind", "crash_at_end"}}},
               {"on_worker_failure", {{"action", "restart"}, {"checkpoint_every_iterations", 1000}}}});
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  ASSERT_EQ(record.at("restarts").size(), 1) << ended.errors;
  const auto train_time_s = record.at("train_time_s").get<double>();
  EXPECT_GE(train_time_s, 3.9);
  EXPECT_GT(record.at("cross_traffic").at(0).at("sent_bytes").get<double>(), 0.75 * train_time_s * 10e6 / 8);
}

TEST(CrossTrafficOfARun, IsRefusedAtItsPlaceInTheFile) {
  const Program program;
  const auto refused =
      program.run(program.run_arguments(program.experiment(beside({{{"from", "w0"}, {"to", "w8"}}}))));
  EXPECT_NE(refused.status.code, 0);
  EXPECT_THAT(
      refused.errors,
      testing::HasSubstr("/base/cross_traffic/0/to: the topology \"three-switch\" has no host \"w8\""));
}

}  // namespace
}  // namespace thinpipe
