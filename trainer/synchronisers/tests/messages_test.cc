// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/messages.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/synchronisers/expected_traffic.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

// Returns `size` bytes that identify the sender and the receiver.
torch::Tensor message_of_size(int from, int to, std::int64_t size) {
  return torch::full({size}, 16 * from + to, torch::kByte);
}

void expect_message(const torch::Tensor& message, int from, int to, std::int64_t size) {
  EXPECT_EQ(message.numel(), size);
  const std::span<const std::uint8_t> bytes = elements<std::uint8_t>(message);
  EXPECT_THAT(std::vector(bytes.begin(), bytes.end()), Each(16 * from + to));
}

constexpr int everyone = 15;

TEST(Messages, OfOneSizeReachAllInRankOrder) {
  for (const std::int64_t size : {3L, 0L}) {
    run_in_process(3, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      const Messages messages = gather_equal(message_of_size(network.rank(), everyone, size), metered);
      ASSERT_THAT(messages, SizeIs(3));
      for (int r = 0; r < 3; ++r) expect_message(messages[static_cast<std::size_t>(r)], r, everyone, size);
      EXPECT_EQ(metered.traffic().payload_bytes, size);
    });
  }
}

TEST(Messages, OfOneSizeForEachReachTheirReceivers) {
  for (const std::int64_t size : {3L, 0L}) {
    run_in_process(3, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      Messages outgoing;
      for (int to = 0; to < 3; ++to) outgoing.push_back(message_of_size(network.rank(), to, size));
      const Messages messages = exchange_equal(outgoing, metered);
      ASSERT_THAT(messages, SizeIs(3));
      for (int r = 0; r < 3; ++r)
        expect_message(messages[static_cast<std::size_t>(r)], r, network.rank(), size);
      EXPECT_EQ(metered.traffic().payload_bytes, 3 * size);
    });
  }
}

TEST(Messages, OfAnySizeReachAllInRankOrder) {
  run_in_process(3, [](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    const std::int64_t own_size = 5 * network.rank();  // 0 for the first worker
    const Messages messages = gather_any(message_of_size(network.rank(), everyone, own_size), metered);
    ASSERT_THAT(messages, SizeIs(3));
    for (int r = 0; r < 3; ++r) expect_message(messages[static_cast<std::size_t>(r)], r, everyone, 5 * r);
    EXPECT_EQ(metered.traffic().payload_bytes, 4 + own_size);
    EXPECT_EQ(gathered_sizes_traffic(3).payload_bytes, 4);
  });
}

TEST(Messages, AreExchangedInAnySize) {
  run_in_process(3, [](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    const auto size = [](int from, int to) { return std::int64_t{from} * (to + 1); };  // rank 0 sends nothing
    Messages outgoing;
    for (int to = 0; to < 3; ++to)
      outgoing.push_back(message_of_size(network.rank(), to, size(network.rank(), to)));
    const Messages messages = exchange_any(outgoing, metered);
    ASSERT_THAT(messages, SizeIs(3));
    for (int from = 0; from < 3; ++from) {
      expect_message(messages[static_cast<std::size_t>(from)], from, network.rank(),
                     size(from, network.rank()));
    }
    EXPECT_EQ(metered.traffic().payload_bytes, 3 * 4 + network.rank() * (1 + 2 + 3));
    EXPECT_EQ(exchanged_sizes_traffic(3).payload_bytes, 3 * 4);
  });
}

// A collective would use a negative size to compute where to write.
TEST(Messages, OfFewerBytesThanNoneAreRefused) {
  run_in_process(2, [](Collective& network) {
    const std::vector<std::int64_t> ones = {1, 1};
    if (network.rank() == 0) {
      network.all_gather_v(torch::full({1}, -8, torch::kInt), ones);
      network.all_to_all_v(torch::full({2}, -8, torch::kInt), ones, ones);
    } else {
      const auto refused =
          ThrowsMessage<CollectiveError>(HasSubstr("rank 0 announces a message of -8 bytes"));
      EXPECT_THAT([&] { gather_any(message_of_size(1, everyone, 9), network); }, refused);
      EXPECT_THAT(
          [&] {
            exchange_any({message_of_size(1, 0, 9), message_of_size(1, 1, 9)}, network);
          },
          refused);
    }
  });
}

TEST(Messages, TakeBytesOver) {
  std::vector<std::uint8_t> bytes = {0x13, 0x13};
  const std::uint8_t* const memory = bytes.data();
  const torch::Tensor message = message_of(std::move(bytes));
  EXPECT_EQ(message.data_ptr<std::uint8_t>(), memory);
  expect_message(message, 1, 3, 2);
  EXPECT_EQ(message_of({}).numel(), 0);
}

TEST(Messages, OfOneWorkerComeBack) {
  run_in_process(1, [](Collective& network) {
    expect_message(gather_equal(message_of_size(0, 0, 2), network).at(0), 0, 0, 2);
    expect_message(gather_any(message_of_size(0, 0, 2), network).at(0), 0, 0, 2);
    expect_message(exchange_any({message_of_size(0, 0, 2)}, network).at(0), 0, 0, 2);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
