// SPDX-License-Identifier: Apache-2.0
// The contract that every backend must meet. For its all-reduces see all_reduce_test.cc.
#include "trainer/collectives/collective.hh"

#include <atomic>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/every_backend.hh"

namespace thinpipe::trainer {
namespace {

// Worker r's contributions for several patterns of counts, one of them empty.
std::vector<std::vector<std::int64_t>> count_patterns(int world_size, std::int64_t elements) {
  std::vector<std::int64_t> equal(world_size, elements), only_last(world_size, 0), uneven(world_size);
  only_last.back() = elements;
  for (int r = 0; r < world_size; ++r) uneven[r] = r % 2 == 0 ? 0 : elements * r / world_size + 1;
  return {equal, only_last, uneven};
}

TEST_P(CollectiveTest, AllGatherConcatenatesInRankOrder) {
  run([](Collective& net) {
    for (const torch::ScalarType type : {torch::kUInt8, torch::kFloat16, torch::kFloat32, torch::kInt64}) {
      for (const std::int64_t elements : sizes()) {
        for (const std::vector<std::int64_t>& counts : count_patterns(net.world_size(), elements)) {
          std::vector<torch::Tensor> inputs;
          for (int r = 0; r < net.world_size(); ++r) inputs.push_back(input(r, counts[r], type) + 8);
          const torch::Tensor gathered = net.all_gather_v(inputs[net.rank()], counts);
          EXPECT_TRUE(torch::equal(gathered, torch::cat(inputs))) << name("all_gather_v", elements, type);
          EXPECT_EQ(gathered.scalar_type(), type);
        }
      }
    }
  });
}

// Worker r has (r + 2w) % 4 times `elements` for worker w, which is zero for some workers and sometimes for
// itself.
std::vector<std::int64_t> parts_of(int rank, int world_size, std::int64_t elements) {
  std::vector<std::int64_t> counts;
  for (int w = 0; w < world_size; ++w) counts.push_back((rank + 2 * w) % 4 * elements);
  return counts;
}

TEST_P(CollectiveTest, AllToAllGivesEveryoneItsPart) {
  run([](Collective& net) {
    for (const torch::ScalarType type : {torch::kUInt8, torch::kFloat32, torch::kInt64}) {
      for (const std::int64_t elements : {0, 1, 257, 5000}) {
        const auto value = [&](int from, int to) { return torch::full({1}, 10 * from + to, type); };
        std::vector<torch::Tensor> sent;
        std::vector<torch::Tensor> expected;
        std::vector<std::int64_t> receive_counts;
        const auto send_counts = parts_of(net.rank(), net.world_size(), elements);
        for (int w = 0; w < net.world_size(); ++w) {
          sent.push_back(value(net.rank(), w).repeat({send_counts[w]}));
          receive_counts.push_back(parts_of(w, net.world_size(), elements)[net.rank()]);
          expected.push_back(value(w, net.rank()).repeat({receive_counts.back()}));
        }
        const torch::Tensor received = net.all_to_all_v(torch::cat(sent), send_counts, receive_counts);
        EXPECT_TRUE(torch::equal(received, torch::cat(expected))) << name("all_to_all_v", elements, type);
        EXPECT_EQ(received.scalar_type(), type);
      }
    }
  });
}

TEST_P(CollectiveTest, BroadcastGivesEveryoneTheRootsTensor) {
  run([](Collective& net) {
    for (int root = 0; root < net.world_size(); ++root) {
      for (const std::int64_t elements : sizes()) {
        torch::Tensor tensor = input(net.rank(), elements, torch::kFloat32).clone();
        net.broadcast(tensor, root);
        EXPECT_TRUE(torch::equal(tensor, input(root, elements, torch::kFloat32)))
            << elements << " from " << root;
      }
    }
  });
}

// Every worker sends its rank to all others, in several rounds. A worker that has received from all starts
// the next round at once.
TEST_P(CollectiveTest, PointToPointDeliversEverythingAndKeepsApart) {
  run([](Collective& net) {
    for (int round = 0; round < 5; ++round) {
      const auto point_to_point = net.open_point_to_point(3000);
      for (int to = 0; to < net.world_size(); ++to) {
        if (to == net.rank()) continue;
        for (int copy = 0; copy < 3; ++copy) {
          point_to_point->send(to, torch::full({3000}, 20 * round + net.rank(), torch::kByte));
        }
      }
      std::vector<int> received(static_cast<std::size_t>(net.world_size()));
      for (int i = 0; i < 3 * (net.world_size() - 1); ++i) {
        const ReceivedMessage message = point_to_point->receive();
        EXPECT_TRUE(message.message.eq(20 * round + message.from).all().item<bool>());
        ++received.at(static_cast<std::size_t>(message.from));
      }
      for (int from = 0; from < net.world_size(); ++from) {
        EXPECT_EQ(received[static_cast<std::size_t>(from)], from == net.rank() ? 0 : 3);
      }
      point_to_point->close();
    }
    net.barrier();
  });
}

TEST_P(CollectiveTest, BarrierWaitsForEveryone) {
  std::atomic<int> arrived = 0;
  run([&](Collective& net) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      net.barrier();
      EXPECT_GE(arrived, round * net.world_size());
      net.barrier();
    }
  });
}

// Mixed calls directly after each other: the messages of one must not be taken for another's.
TEST_P(CollectiveTest, CallsInSuccessionDoNotMix) {
  run([](Collective& net) {
    const int n = net.world_size();
    for (int step = 0; step < 50; ++step) {
      torch::Tensor sum = torch::full({11}, net.rank() + step, torch::kInt32);
      torch::Tensor sent = torch::full({5}, net.rank() * 100 + step, torch::kInt64);
      net.all_reduce(sum, Reduction::sum);
      const std::vector<std::int64_t> counts(n, 1);
      const torch::Tensor gathered =
          net.all_gather_v(torch::full({1}, net.rank() + step, torch::kInt8), counts);
      net.broadcast(sent, step % n);
      EXPECT_TRUE((sum == n * (n - 1) / 2 + n * step).all().item<bool>());
      EXPECT_TRUE((gathered == torch::arange(step, step + n)).all().item<bool>());
      EXPECT_TRUE((sent == step % n * 100 + step).all().item<bool>());
    }
  });
}

TEST_P(CollectiveTest, RefusesTensorsItCannotHandOver) {
  run([](Collective& net) {
    const std::vector<std::int64_t> counts(net.world_size(), 2);
    const torch::Tensor strided = torch::zeros({4, 2}).select(1, 0);
    EXPECT_THROW(net.all_reduce(strided, Reduction::sum), CollectiveError);
  });
  run([](Collective& net) { EXPECT_THROW(net.broadcast(torch::zeros({2, 2}), 0), CollectiveError); });
}

TEST_P(CollectiveTest, RefusesCountsAndRootsThatCannotBe) {
  run([](Collective& net) {
    const std::vector<std::int64_t> too_many(net.world_size() + 1, 2);
    EXPECT_THROW(net.all_gather_v(torch::zeros(2), too_many), CollectiveError);
  });
  run([](Collective& net) {
    const std::vector<std::int64_t> wrong(net.world_size(), 3);
    EXPECT_THROW(net.all_gather_v(torch::zeros(2), wrong), CollectiveError);
  });
  run([](Collective& net) {
    const std::vector<std::int64_t> counts(net.world_size(), 2);
    EXPECT_THROW(net.all_to_all_v(torch::zeros(2 * net.world_size() + 1), counts, counts), CollectiveError);
  });
  run([](Collective& net) {
    std::vector<std::int64_t> sent(net.world_size(), 1), expected = sent;
    ++expected[net.rank()];
    EXPECT_THROW(net.all_to_all_v(torch::zeros(net.world_size()), sent, expected), CollectiveError);
  });
  run([](Collective& net) {
    EXPECT_THROW(net.broadcast(torch::zeros(2), net.world_size()), CollectiveError);
  });
}

std::vector<World> worlds() {
  std::vector<World> out;
  for (const char* backend :
       {"in_process", "gloo", "ring", "island", "nccl_stand_in", "nccl_tree_stand_in"}) {
    for (const int size : {1, 2, 3, 5, 8}) out.push_back({backend, size});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Worlds, CollectiveTest, ::testing::ValuesIn(worlds()), [](const auto& world) {
  return fmt::format("{}_of_{}", world.param.backend, world.param.size);
});

}  // namespace
}  // namespace thinpipe::trainer
