// SPDX-License-Identifier: Apache-2.0
// Properties of the streaming backends beyond the contract of all backends.
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::join;
using testing::reduction_tree_for;
using testing::run_over_network;

torch::Tensor noise(int rank, std::int64_t elements) {
  const torch::Tensor i = torch::arange(elements, torch::kFloat32);
  return torch::sin(i * (rank + 1) + 0.1 * rank);
}

// An element's position does not matter: packing keeps the bits of an element's sum.
TEST(Island, ASumOfPackedElementsHasTheBitsOfTheWholesSum) {
  for (const int world_size : {2, 3, 5, 8}) {
    run_over_network("island", world_size, [](Collective& net) {
      constexpr std::int64_t elements = 300'007;
      const torch::Tensor kept = torch::nonzero(noise(77, elements) > 0.3).flatten();
      torch::Tensor whole = noise(net.rank(), elements);
      torch::Tensor packed = whole.index_select(0, kept);
      net.all_reduce(whole, Reduction::sum);
      net.all_reduce(packed, Reduction::sum);
      EXPECT_TRUE(torch::equal(packed, whole.index_select(0, kept)));
    });
  }
}

TEST(Island, SumsInTheOrderOfTheTree) {
  run_over_network("island", 8, [](Collective& net) {
    constexpr std::int64_t elements = 5000;
    torch::Tensor sum = noise(net.rank(), elements);
    net.all_reduce(sum, Reduction::sum);
    const auto own = [](int rank) { return noise(rank, elements); };
    const torch::Tensor left = own(0) + own(1) + own(2);
    const torch::Tensor right = own(5) + own(6) + own(7);
    EXPECT_TRUE(torch::equal(sum, own(3) + (own(4) + left) + right));
  });
}

// So a convergence run can be the same training run, bit for bit.
TEST(Island, HasTheBitsOfAGroupInOneProcessAlongTheSameTree) {
  for (const auto type : {torch::kFloat32, torch::kFloat16, torch::kBFloat16}) {
    torch::Tensor in_process;
    torch::Tensor by_rank;
    torch::Tensor over_the_network;
    const auto sum_into = [type](torch::Tensor& result) {
      return [&result, type](Collective& net) {
        torch::Tensor sum = noise(net.rank(), 300'007).to(type);
        net.all_reduce(sum, Reduction::sum);
        if (net.rank() == 6) result = sum;
      };
    };
    run_in_process(8, reduction_tree_for(8),
                   [&](std::unique_ptr<Collective> net) { sum_into(in_process)(*net); });
    run_in_process(8, sum_into(by_rank));
    run_over_network("island", 8, sum_into(over_the_network));
    EXPECT_TRUE(torch::equal(in_process, over_the_network)) << type;
    EXPECT_FALSE(torch::equal(by_rank, over_the_network)) << type;
  }
}

// Two workers that swap vectors sum in the same order.
TEST(Ring, SumsLittleAcrossTheHypercube) {
  run_over_network("ring", 8, [](Collective& net) {
    constexpr std::int64_t elements = 1000;
    torch::Tensor sum = noise(net.rank(), elements);
    net.all_reduce(sum, Reduction::sum);
    const auto pair = [](int rank) { return noise(rank, elements) + noise(rank + 1, elements); };
    EXPECT_TRUE(torch::equal(sum, (pair(0) + pair(2)) + (pair(4) + pair(6))));
    torch::Tensor largest = torch::tensor({net.rank(), -net.rank()});
    net.all_reduce(largest, Reduction::max);
    EXPECT_TRUE(torch::equal(largest, torch::tensor({7, 0})));
  });
}

class Streamed : public ::testing::TestWithParam<const char*> {};

// Returns the error of each worker when rank 1 does not take part. `absent`: rank 1's action instead.
std::vector<std::string> errors_without_rank_1(const std::string& backend,
                                               const std::function<std::string(int rank)>& timeout,
                                               const std::function<void(Collective&)>& absent) {
  constexpr int world_size = 4;
  const TemporaryFolder directory;
  std::vector<std::string> messages(world_size);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto net = join(backend,
                              {.rank = rank,
                               .world_size = world_size,
                               .address = "127.0.0.1",
                               .rendezvous_directory = directory.path()},
                              {{"timeout", timeout(rank)}});
        try {
          if (rank == 1) return absent(*net);
          torch::Tensor tensor = torch::zeros(1 << 20);
          while (true) net->all_reduce(tensor, Reduction::sum);
        } catch (const CollectiveError& error) {
          messages[static_cast<std::size_t>(rank)] = error.what();
          EXPECT_THROW(net->all_reduce(torch::zeros(1 << 20), Reduction::sum), CollectiveError);
        }
      });
    }
  }
  return messages;
}

TEST_P(Streamed, AWorkersDepartureIsAnErrorOfAllOthers) {
  const auto messages = errors_without_rank_1(
      GetParam(), [](int) { return "30 s"; },
      [](Collective& net) {
        for (int i = 0; i < 3; ++i) net.all_reduce(torch::zeros(1 << 20), Reduction::sum);
      });
  for (const int rank : {0, 2, 3}) {
    EXPECT_THAT(messages[static_cast<std::size_t>(rank)],
                HasSubstr(fmt::format("all_reduce sum of 1048576 x Float on rank {} of 4: ", rank)));
  }
}

// The error is worker 0's or 2's, whichever waits for worker 1 and not for another waiting worker. Worker 3
// has a longer time-out, so that its departure is not noticed first.
TEST_P(Streamed, AWorkerThatDoesNotComeIsNamedAfterTheTimeOut) {
  const auto messages = errors_without_rank_1(
      GetParam(), [](int rank) { return rank == 3 ? "10 s" : "300 ms"; },
      [](Collective& /*net*/) { std::this_thread::sleep_for(std::chrono::seconds(2)); });
  EXPECT_THAT(messages, Contains(AllOf(HasSubstr("no byte from rank 1"), HasSubstr("0.3 s"))));
  for (const int rank : {0, 2, 3}) EXPECT_NE(messages[static_cast<std::size_t>(rank)], "");
}

INSTANTIATE_TEST_SUITE_P(Backends, Streamed, ::testing::Values("ring", "island"),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace thinpipe::trainer
