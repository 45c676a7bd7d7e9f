// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

Json omnireduce(std::int64_t block_size, std::int64_t blocks_per_message, std::int64_t streams) {
  return {{"name", "omnireduce"},
          {"block_size", block_size},
          {"blocks_per_message", blocks_per_message},
          {"streams", streams}};
}

// Only entry 20 is not zero, on one worker; it is in the sixth of eight blocks of four. Each worker has one
// stream of one column, so its aggregator sums every second block. The first block of a column is always
// sent, others only if they are not zero. Worker 0 sends blocks 1 and 5, which worker 1 sums, and worker 1
// sends block 0. A worker's blocks for itself are not sent.
TEST(OmniReduce, SendsFirstAndNonZeroBlocksOnly) {
  const World world = make_world(32, false);
  run_in_process(2, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(omnireduce(4, 1, 1), world, metered);
    torch::Tensor gradient = torch::zeros({32});
    if (network.rank() == 0) gradient[20] = 6;
    metered.begin_section();
    const torch::Tensor out = session.step(gradient, 1);
    const std::int64_t payload = metered.end_section().payload_bytes;
    EXPECT_EQ(out[20].item<float>(), 3);
    EXPECT_EQ(out.count_nonzero().item<std::int64_t>(), 1);
    constexpr std::int64_t message = 8 + 8 + 4 * 4;
    // Sums: block 0 from worker 0, blocks 1 and 5 from worker 1.
    EXPECT_EQ(payload, network.rank() == 0 ? (2 + 1) * message : (1 + 2) * message);
  });
}

// Of the first parameter, blocks 0 to 3, only the last block is kept. Blocks 0 and 1 are the first of their
// columns, so that pruning saves block 2 only.
TEST(OmniReduce, PlansTheBlocksThatPruningLeft) {
  const World world = make_world(32, false);
  run_in_process(2, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(omnireduce(4, 1, 1), world, metered);
    constexpr std::int64_t message = 8 + 8 + 4 * 4;
    EXPECT_EQ(session.method().steady_state_traffic(world.bucket, 2).payload_bytes, 8 * message);
    const torch::Tensor kept = torch::arange(16).ge(12);
    session.method().adopt_masks({kept, torch::Tensor()});
    EXPECT_EQ(session.method().steady_state_traffic(world.bucket, 2).payload_bytes, 7 * message);
    metered.begin_section();
    session.step(torch::cat({kept.to(torch::kFloat), torch::ones({16})}), 1);
    EXPECT_EQ(metered.end_section().payload_bytes, 7 * message);
    network.barrier();  // no worker may leave before all have received their messages
  });
}

TEST(OmniReduce, GivesTheMeanWithNumbersBeyondAnyBucket) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  const World world = make_world(100, false);
  for (const Json& options : {omnireduce(huge, 64, 4), omnireduce(8, huge, 4), omnireduce(8, 64, huge)}) {
    run_in_process(4, [&](Collective& network) {
      Session session(options, world, network);
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), 1), 1);
      EXPECT_TRUE(out.to(torch::kDouble).equal(exact_mean(world, 4, 1))) << options;
      EXPECT_GT(session.method().traffic(world.bucket, 4).sent_bytes, 0) << options;
      network.barrier();  // no worker may leave before all have received their messages
    });
  }
}

// Delivers the same message again and again, whatever the others send.
class ForgedPointToPoint : public PointToPoint {
 public:
  explicit ForgedPointToPoint(ReceivedMessage received) : received_(std::move(received)) {}
  void send(int /*to*/, const torch::Tensor& /*message*/) override {}
  ReceivedMessage receive() override { return received_; }
  void close() override {}

 private:
  ReceivedMessage received_;
};

class Forging : public Borrowed {
 public:
  Forging(Collective& inner, ReceivedMessage received) : Borrowed(inner), received_(std::move(received)) {}
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t /*message_bytes*/) override {
    return std::make_unique<ForgedPointToPoint>(received_);
  }

 private:
  ReceivedMessage received_;
};

std::string omnireduce_failure(Collective& network, int from, std::uint8_t stream, bool is_result) {
  const World world = make_world(32, false);
  torch::Tensor message = torch::zeros({1024}, torch::kByte);
  message[0] = stream;
  if (is_result) message[3] = 0x80;
  Forging forging(network, {from, message});
  Session session(omnireduce(4, 1, 1), world, forging);
  try {
    session.step(torch::ones({32}), 1);
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return "accepted";
}

// There are three streams; worker s sums stream s.
TEST(OmniReduce, RefusesMessagesOfStreamsThatAreNotTheirs) {
  run_in_process(3, [](Collective& network) {
    if (network.rank() != 0) return;
    const auto refused = ::testing::HasSubstr("is not for rank 0");
    EXPECT_THAT(omnireduce_failure(network, 1, 1, false), refused) << "blocks for another aggregator";
    EXPECT_THAT(omnireduce_failure(network, 2, 1, true), refused) << "sums from the wrong worker";
    EXPECT_THAT(omnireduce_failure(network, 1, 3, false), refused) << "there is no such stream";
  });
}

}  // namespace
}  // namespace thinpipe::trainer
