// SPDX-License-Identifier: Apache-2.0
// The "nccl" backend above NCCL. A stand-in replaces NCCL, so this tests nothing on a GPU.
#include "trainer/collectives/backends/nccl.hh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using testing::NcclStandIn;
using testing::run_nccl_stand_in;

// Returns the errors of a worker's current and next call.
std::vector<std::string> errors_of(Collective& net) {
  std::vector<std::string> messages;
  for (int call = 0; call < 2; ++call) {
    try {
      net.all_reduce(torch::ones(100), Reduction::sum);
      messages.emplace_back("no error");
    } catch (const CollectiveError& error) {
      messages.emplace_back(error.what());
    }
  }
  return messages;
}

TEST(Nccl, AFailureIsAnErrorOfEveryWorkerAndOfEveryLaterCall) {
  run_nccl_stand_in(3, {}, [](Collective& net, NcclStandIn& gpu) {
    if (net.rank() == 1) gpu.fail();
    net.barrier();
    std::vector<std::string> messages = errors_of(net);
    // Ranks that were done when rank 1 failed get the error at their next call.
    if (net.rank() != 1 && messages[0] == "no error") messages = {messages[1], errors_of(net)[0]};
    const std::string where = fmt::format("all_reduce sum of 100 x Float on rank {} of 3: ", net.rank());
    EXPECT_THAT(messages[0], HasSubstr(where));
    EXPECT_THAT(messages[1], HasSubstr(where + "an earlier call failed: "));
    if (net.rank() == 1) {
      EXPECT_THAT(messages[0], HasSubstr("remote process exited"));
    }
  });
}

// A training run has the same bits whichever of the two carries it.
TEST(Nccl, AlongATreeItHasTheBitsOfAGroupInOneProcessAlongTheSameTree) {
  for (const auto type : {torch::kFloat32, torch::kFloat16, torch::kBFloat16}) {
    for (const std::int64_t elements : {1, 1000, 300'007}) {
      torch::Tensor in_process;
      torch::Tensor over_messages;
      const auto sum_into = [&](torch::Tensor& result) {
        return [&result, type, elements](Collective& net) {
          torch::Tensor sum =
              torch::sin(torch::arange(elements) * (net.rank() + 1) + 0.1 * net.rank()).to(type);
          net.all_reduce(sum, Reduction::sum);
          if (net.rank() == 6) result = sum;
        };
      };
      run_in_process(8, testing::reduction_tree_for(8),
                     [&](std::unique_ptr<Collective> net) { sum_into(in_process)(*net); });
      run_nccl_stand_in(8, testing::reduction_tree_for(8), [&](Collective& net, NcclStandIn& gpu) {
        sum_into(over_messages)(net);
        EXPECT_EQ(gpu.all_reduces(), 0) << "NCCL's all-reduce was used instead of messages";
      });
      EXPECT_TRUE(torch::equal(in_process, over_messages)) << type << " x " << elements;
    }
  }
}

TEST(Nccl, IsRefusedWithoutAGpu) {
  const auto obstacle = obstacle_to_nccl();
  if (nccl_version() && torch::cuda::is_available()) {
    EXPECT_EQ(obstacle, std::nullopt);
    return;
  }
  ASSERT_TRUE(obstacle);
  EXPECT_THAT(*obstacle, HasSubstr(nccl_version() ? "finds no GPU" : "this program was built without NCCL"));
  EXPECT_THAT(*obstacle, HasSubstr("use \"auto\""));
}

TEST(Nccl, AWorldOfOneNeedsNoGpu) {
  const TemporaryFolder directory;
  const auto net = testing::join("nccl", {.address = "127.0.0.1", .rendezvous_directory = directory.path()});
  torch::Tensor tensor = torch::ones(3);
  net->all_reduce(tensor, Reduction::sum);
  EXPECT_TRUE(torch::equal(tensor, torch::ones(3)));
  EXPECT_TRUE(torch::equal(net->all_gather_v(tensor, std::vector<std::int64_t>{3}), tensor));
}

}  // namespace
}  // namespace thinpipe::trainer
