// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/pair_speed.hh"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/tcp_connection.hh"

namespace thinpipe::trainer {
namespace {

constexpr double timeout_s = 10;

// The two ends of a TCP connection.
struct Connection {
  Connection() {
    auto [from, to] = tcp_connection();
    client.emplace(0, std::move(from));
    server.emplace(1, std::move(to));
  }

  std::optional<Peer> client;
  std::optional<Peer> server;
};

TEST(PairSpeed, MeasuresARoundTrip) {
  Connection pair;
  std::thread other([&] { answer_round_trips(*pair.server, timeout_s); });
  const double round_trip_s = measure_round_trip_s(*pair.client, 0.1, timeout_s);
  other.join();
  EXPECT_GT(round_trip_s, 0);
  EXPECT_LT(round_trip_s, timeout_s);
}

// The receiver counts what the sender sent, whatever the speed: what follows on the connection arrives intact.
TEST(PairSpeed, MeasuresARateAndLeavesTheConnectionInOrder) {
  Connection pair;
  double bit_per_s = 0;
  std::thread other([&] {
    bit_per_s = measure_received_bit_per_s(*pair.server, 0.2, timeout_s);
    answer_round_trips(*pair.server, timeout_s);
  });
  send_for(*pair.client, 0.2, timeout_s);
  measure_round_trip_s(*pair.client, 0.01, timeout_s);
  other.join();
  EXPECT_GT(bit_per_s, 1e5);
  EXPECT_TRUE(std::isfinite(bit_per_s));
}

TEST(PairSpeed, NamesThePeerThatIsGone) {
  Connection pair;
  pair.server.reset();
  try {
    measure_round_trip_s(*pair.client, 0.1, timeout_s);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 0"));
  }
}

}  // namespace
}  // namespace thinpipe::trainer
