// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/circle_messages.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor message_from(int rank) {
  return torch::tensor({rank, 100 + rank, 7}, torch::kByte);
}

TEST(CircleMessages, PassedOnAroundAllWorkersArriveFromTheWorkerBehind) {
  run_in_process(5, [](Collective& network) {
    const int rank = network.rank();
    const torch::Tensor received = pass_on(message_from(rank), (rank + 2) % 5, (rank + 3) % 5, network);
    EXPECT_TRUE(received.equal(message_from((rank + 3) % 5)));
  });
}

// Circles of neighbours, and circles across them.
TEST(CircleMessages, AreGatheredInTheOrderOfPlaces) {
  for (const auto& [size, others] : {std::pair(1, 3), std::pair(2, 2), std::pair(3, 2), std::pair(5, 1),
                                     std::pair(6, 2), std::pair(7, 2), std::pair(8, 1)}) {
    const int workers = size * others;
    run_in_process(workers, [&, size = size, others = others](Collective& network) {
      const int rank = network.rank();
      for (const bool neighbours : {true, false}) {
        const int place = neighbours ? rank % size : rank / others;
        const Circle circle = neighbours ? Circle{.first = rank - place, .stride = 1, .size = size}
                                         : Circle{.first = rank % others, .stride = others, .size = size};
        MeteredCollective metered(std::make_unique<Borrowed>(network));
        const Messages gathered = gather_around(message_from(rank), circle, place, metered);
        ASSERT_EQ(gathered.size(), static_cast<std::size_t>(size));
        for (int p = 0; p < size; ++p) {
          EXPECT_TRUE(gathered[static_cast<std::size_t>(p)].equal(message_from(circle.rank_at(p))))
              << workers << " workers, circle of " << size << ", place " << p << " on worker " << rank;
        }
        EXPECT_DOUBLE_EQ(metered.traffic().sent_bytes,
                         gather_around_traffic(3, size, circle.stride).sent_bytes);
      }
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer
