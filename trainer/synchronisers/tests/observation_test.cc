// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/observation.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"

namespace thinpipe::trainer {
namespace {

TEST(Observation, IsTheSameOnEveryWorkerAndCostsWhatItClaims) {
  run_in_process(3, [](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    const double rank = network.rank();
    const Observation all =
        agree_on({.sent_bytes = 100 * rank, .exchange_s = 1 + rank, .compute_s = 10 - rank}, metered);
    EXPECT_EQ(all.sent_bytes, 100);
    EXPECT_EQ(all.exchange_s, 1);
    EXPECT_EQ(all.compute_s, 10);
    const ExpectedTraffic expected = observation_traffic(3);
    EXPECT_EQ(static_cast<double>(metered.traffic().payload_bytes), expected.payload_bytes);
    EXPECT_EQ(metered.traffic().sent_bytes, expected.sent_bytes);
    EXPECT_EQ(static_cast<double>(metered.traffic().delivered_bytes), expected.delivered_bytes);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
