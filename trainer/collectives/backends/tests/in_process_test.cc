// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/in_process.hh"

#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return "";
}

// 2^24 + 1 + 1 in float: the ones are lost to rounding if added one at a time, but not if added together.
TEST(InProcessGroup, SumsInAscendingRankOrder) {
  const float values[] = {0x1p24F, 1.F, 1.F, -0x1p24F};
  run_in_process(4, [&](Collective& net) {
    torch::Tensor tensor = torch::full({1001}, values[net.rank()]);
    net.all_reduce(tensor, Reduction::sum);
    EXPECT_TRUE((tensor == 0).all().item<bool>());
  });
  const float reordered[] = {1.F, 1.F, 0x1p24F, -0x1p24F};
  run_in_process(4, [&](Collective& net) {
    torch::Tensor tensor = torch::full({1001}, reordered[net.rank()]);
    net.all_reduce(tensor, Reduction::sum);
    EXPECT_TRUE((tensor == 2).all().item<bool>());
  });
}

// 2048 + 1 is a tie that rounds to 2048 at each step; a float accumulator would give 2051 and so 2052.
TEST(InProcessGroup, RoundsHalfSumsAtEveryAddition) {
  const float values[] = {2048.F, 1.F, 1.F, 1.F};
  run_in_process(4, [&](Collective& net) {
    torch::Tensor tensor = torch::full({19}, values[net.rank()], torch::kFloat16);
    net.all_reduce(tensor, Reduction::sum);
    EXPECT_TRUE((tensor == 2048).all().item<bool>());
  });
}

TEST(InProcessGroup, RefusesATreeThatIsNone) {
  const auto refusal = [](int world_size, const std::vector<int>& parents) -> std::string {
    try {
      InProcessGroup(world_size, parents);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(3, {1, -1, 1}), "");
  EXPECT_EQ(refusal(1, {-1}), "");
  EXPECT_THAT(refusal(2, {1, -1, 1}), HasSubstr("a group of 2 workers was given a reduction tree of 3"));
  EXPECT_THAT(refusal(3, {-1, -1, 1}), HasSubstr("from one root"));
  EXPECT_THAT(refusal(3, {-1, 2, 1}), HasSubstr("from one root"));
}

TEST(InProcessGroup, DifferentCallsAreAnErrorOnEveryWorker) {
  run_in_process(3, [](Collective& net) {
    const std::string message = error_of([&] {
      if (net.rank() == 1) {
        net.barrier();
      } else {
        torch::Tensor tensor = torch::zeros(5);
        net.all_reduce(tensor, Reduction::sum);
      }
    });
    EXPECT_THAT(message, HasSubstr("rank 0 called all_reduce sum of 5 x Float, but rank 1 called barrier"));
  });
}

TEST(InProcessGroup, DifferentSizesAreAnErrorOnEveryWorker) {
  run_in_process(2, [](Collective& net) {
    torch::Tensor tensor = torch::zeros(5 + net.rank());
    EXPECT_THAT(error_of([&] { net.all_reduce(tensor, Reduction::sum); }), HasSubstr("of 6 x Float"));
  });
}

// Rank 0 expects data that rank 1 does not send, and has gone while the others still read its contribution.
TEST(InProcessGroup, WhatAFailedWorkerBroughtOutlivesIt) {
  constexpr int n = 8;
  for (int repetition = 0; repetition < 50; ++repetition) {
    run_in_process(n, [](Collective& net) {
      const torch::Tensor input = torch::zeros(n);
      std::vector<std::int64_t> sent(n, 1);
      std::vector<std::int64_t> received(n, 1);
      if (net.rank() == 0) received[1] = 2;
      const std::string message = error_of([&] { net.all_to_all_v(input, sent, received); });
      std::ranges::fill(sent, -1);
      EXPECT_THAT(message, HasSubstr("rank 1 has 1 elements for rank 0, which expects 2"));
      EXPECT_THAT(error_of([&] { net.all_to_all_v(input, received, received); }), HasSubstr("rank 0"));
    });
  }
}

TEST(InProcessGroup, AWorkerThatLeavesEndsTheOthersCalls) {
  run_in_process(3, [](Collective& net) {
    if (net.rank() == 2) return;
    torch::Tensor tensor = torch::zeros(5);
    const auto reduce = [&] { net.all_reduce(tensor, Reduction::sum); };
    EXPECT_EQ(error_of(reduce), "all_reduce sum of 5 x Float: rank 2 has left");
    EXPECT_EQ(error_of([&] { net.barrier(); }), "barrier: rank 2 has left");
  });
}

TEST(InProcessGroup, LeavingAfterTheLastCallHurtsNobody) {
  for (int repetition = 0; repetition < 200; ++repetition) {
    run_in_process(3, [](Collective& net) { net.barrier(); });
  }
}

TEST(InProcessGroup, AnErrorInOneWorkerReachesTheCallerAndTheOthers) {
  try {
    run_in_process(3, [](Collective& net) {
      if (net.rank() == 1) throw std::runtime_error("out of marbles");
      net.barrier();
    });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "out of marbles");
  }
}

TEST(InProcessGroup, AbortEndsPendingAndLaterCalls) {
  InProcessGroup group(2);
  const std::unique_ptr<Collective> net = group.join(0);
  std::string pending;
  {
    const std::jthread waiting([&] { pending = error_of([&] { net->barrier(); }); });
    group.abort("the test is over");
    group.abort("a later reason");
  }
  EXPECT_EQ(pending, "barrier: the test is over");
  EXPECT_EQ(error_of([&] { net->barrier(); }), "barrier: the test is over");
  EXPECT_EQ(group.first_failed_rank(), -1);
}

TEST(InProcessGroup, RefusesRanksThatCannotJoin) {
  EXPECT_THROW(InProcessGroup(0), Error);
  InProcessGroup group(2);
  EXPECT_THROW(group.join(2), Error);
  EXPECT_THROW(group.join(-1), Error);
  const std::unique_ptr<Collective> net = group.join(1);
  EXPECT_THROW(group.join(1), Error);
}

}  // namespace
}  // namespace thinpipe::trainer
