// SPDX-License-Identifier: Apache-2.0
#include "harness/run/restarts.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

Outcome failed(const std::string& kind) {
  return {Outcome::Status::failed, Failure{.kind = kind, .message = "m"}};
}

FailurePolicy read_policy(const Json& value) {
  FailurePolicy policy;
  read_value(value, {"e.json", "/base/on_worker_failure"}, {}, policy);
  return policy;
}

TEST(Restarts, FollowTheFailureOfAWorkerAndNoOther) {
  const Restarts restarts(read_policy("restart"));
  for (const char* kind : {"crash", "hang", "stall", "collective"})
    EXPECT_TRUE(restarts.follow(failed(kind)));
  for (const char* kind : {"non_finite", "divergence", "input", "start", "harness", "protocol"}) {
    EXPECT_FALSE(restarts.follow(failed(kind)));
  }
  EXPECT_FALSE(restarts.follow({Outcome::Status::completed}));
  EXPECT_FALSE(restarts.follow({Outcome::Status::interrupted}));
  EXPECT_FALSE(Restarts(read_policy("fail")).follow(failed("crash")));
}

TEST(Restarts, EndAtTheirLimit) {
  Restarts restarts(read_policy({{"action", "restart"}, {"at_most", 2}}));
  restarts.begin(*failed("crash").failure, 1, 1, 0);
  EXPECT_TRUE(restarts.follow(failed("crash")));
  restarts.begin(*failed("crash").failure, 1, 1, 0);
  EXPECT_FALSE(restarts.follow(failed("crash")));
}

// Two failures. The first comes after 10 s, with a checkpoint at 6 s; the second after 15 s of the run, which
// are 11 s of the trainer's count, with a checkpoint at 9 s of that count.
TEST(Restarts, WhatIsDoneAgainStaysInTheTrainTime) {
  Restarts restarts(read_policy("restart"));
  EXPECT_FALSE(restarts.awaits_resumption());
  restarts.begin(*failed("crash").failure, 100, 10, 50);
  EXPECT_TRUE(restarts.awaits_resumption());
  restarts.resume(60, 6, 53);
  EXPECT_FALSE(restarts.awaits_resumption());
  EXPECT_DOUBLE_EQ(restarts.lost_train_time_s(), 4);
  restarts.begin(*failed("hang").failure, 110, 15, 70);
  restarts.resume(90, 9, 71);
  EXPECT_DOUBLE_EQ(restarts.lost_train_time_s(), 6);
  const std::vector<record::Restart>& recorded = restarts.recorded();
  EXPECT_EQ(recorded.at(0).failure.kind, "crash");
  EXPECT_EQ(recorded.at(0).after_iteration, 100);
  EXPECT_EQ(recorded.at(0).resumed_after_iteration, 60);
  EXPECT_EQ(recorded.at(0).down_time_s, 3.0);
  EXPECT_EQ(recorded.at(0).lost_train_time_s, 4.0);
  EXPECT_EQ(recorded.at(1).lost_train_time_s, 2.0);
}

// The lost time of the earlier part is in its train times.
TEST(Restarts, CountThoseOfAnEarlierPart) {
  Restarts restarts(read_policy({{"action", "restart"}, {"at_most", 2}}));
  restarts.take_over({{.after_iteration = 10, .resumed_after_iteration = 6, .lost_train_time_s = 4}});
  EXPECT_DOUBLE_EQ(restarts.lost_train_time_s(), 4);
  EXPECT_FALSE(restarts.awaits_resumption());
  EXPECT_TRUE(restarts.follow(failed("crash")));
  restarts.begin(*failed("crash").failure, 20, 30, 0);
  restarts.resume(15, 20, 1);
  EXPECT_DOUBLE_EQ(restarts.lost_train_time_s(), 10);
  EXPECT_FALSE(restarts.follow(failed("crash")));
  EXPECT_EQ(restarts.recorded().size(), 2U);
}

}  // namespace
}  // namespace thinpipe
