// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer_listener.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr double hello_timeout_s = 0.3;

class PeerListenerTest : public testing::Test {
 protected:
  FileDescriptor connect_to_listener() const {
    FileDescriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const PeerListener::Notice& notice = listener_.notice();
    system_call("connect", ::connect(out.get(), reinterpret_cast<const sockaddr*>(&notice.address),
                                     notice.address_bytes));
    return out;
  }

  static void send(const FileDescriptor& socket, std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }

  PeerProof proof() const { return {std::nullopt, listener_.notice().challenge}; }

  FileDescriptor connected_worker(int rank) const {
    FileDescriptor out = connect_to_listener();
    send(out, proof().hello(rank));
    return out;
  }

  // Returns whether the other end has closed the connection.
  static bool is_closed(const FileDescriptor& socket) {
    std::byte byte{};
    return ::recv(socket.get(), &byte, 1, 0) <= 0;
  }

  PeerListener listener_{{.address = "127.0.0.1", .hello_timeout_s = hello_timeout_s}};
};

TEST_F(PeerListenerTest, KnowsWorkersByTheirRanks) {
  const FileDescriptor third = connected_worker(3);
  const FileDescriptor first = connected_worker(1);
  const auto accepted = listener_.accept({1, 3}, 10);
  ASSERT_EQ(accepted.size(), 2U);
  ASSERT_EQ(::write(third.get(), "x", 1), 1);
  char received = 0;
  while (::read(accepted.at(3).get(), &received, 1) < 0 && errno == EAGAIN) std::this_thread::yield();
  EXPECT_EQ(received, 'x');
}

TEST_F(PeerListenerTest, ProvesItselfToWorkers) {
  const FileDescriptor worker = connect_to_listener();
  const PeerHello hello = proof().hello(1);
  send(worker, hello);
  EXPECT_EQ(listener_.accept({1}, 10).size(), 1U);
  KeyedHash answer{};
  ASSERT_EQ(::recv(worker.get(), answer.data(), answer.size(), MSG_WAITALL), std::ssize(answer));
  EXPECT_EQ(answer, proof().answer(hello));
  EXPECT_NE(answer, proof().answer(proof().hello(1)));
}

// Whoever has seen the notice does not know the secret, and whoever has seen a hello cannot use it again.
TEST_F(PeerListenerTest, DemandsTheSecretForItsOwnChallenge) {
  const RunToken secret = random_run_token();
  const PeerListener listener({.address = "127.0.0.1", .secret = secret, .hello_timeout_s = hello_timeout_s});
  const PeerChallenge& challenge = listener.notice().challenge;
  const PeerHello right = PeerProof(secret, challenge).hello(1);
  PeerHello other_rank = right;
  other_rank[4] = std::byte{2};
  for (const PeerHello& wrong : {PeerProof(std::nullopt, challenge).hello(1),
                                 PeerProof(secret, random_run_token()).hello(1), other_rank}) {
    IncomingHello incoming(PeerProof(secret, challenge));
    std::ranges::copy(wrong, incoming.missing().begin());
    incoming.arrived(wrong.size());
    EXPECT_TRUE(incoming.is_wrong());
    EXPECT_EQ(incoming.rank(), std::nullopt);
  }
  EXPECT_TRUE(PeerProof(secret, challenge).holds(right));
}

TEST_F(PeerListenerTest, ListensAtItsAddressOnly) {
  sockaddr_in other{};
  std::memcpy(&other, &listener_.notice().address, sizeof other);
  ASSERT_EQ(::inet_pton(AF_INET, "127.0.0.2", &other.sin_addr), 1);
  const FileDescriptor stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&other), sizeof other), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(PeerListenerTest, TakesTheFirstFreePort) {
  sockaddr_in taken{};
  std::memcpy(&taken, &listener_.notice().address, sizeof taken);
  const std::uint16_t port = ntohs(taken.sin_port);
  const PeerListener second({.address = "127.0.0.1", .ports = {port, 0}});
  std::memcpy(&taken, &second.notice().address, sizeof taken);
  EXPECT_NE(ntohs(taken.sin_port), port);
  EXPECT_THROW(PeerListener({.address = "127.0.0.1", .ports = {port}}), SystemError);
}

TEST_F(PeerListenerTest, GoesOnWhateverStrangersDo) {
  const FileDescriptor silent = connect_to_listener();
  const FileDescriptor talking = connect_to_listener();
  ASSERT_EQ(::write(talking.get(), "GET / HTTP/1.1\r\nHost: someone\r\n\r\n", 33), 33);
  FileDescriptor leaving = connect_to_listener();
  leaving.reset();
  const FileDescriptor hesitant = connect_to_listener();  // begins as a worker would
  const PeerHello beginning = proof().hello(2);
  send(hesitant, std::span(beginning).first(5));
  const FileDescriptor unasked = connected_worker(7);
  const FileDescriptor beyond = connected_worker(-1);
  const FileDescriptor worker = connected_worker(2);
  const FileDescriptor twice = connected_worker(2);
  EXPECT_EQ(listener_.accept({2}, 10).size(), 1U);
}

TEST_F(PeerListenerTest, AcceptsAHelloInPieces) {
  const FileDescriptor worker = connect_to_listener();
  std::thread slow([&] {
    const PeerHello hello = proof().hello(1);
    for (const std::byte& each : hello) {
      send(worker, {&each, 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(listener_.accept({1}, 10).size(), 1U);
  slow.join();
}

TEST_F(PeerListenerTest, ClosesTheConnectionsOfStrangersThatStay) {
  const FileDescriptor silent = connect_to_listener();
  const FileDescriptor wrong = connect_to_listener();
  send(wrong, PeerProof(std::nullopt, random_run_token()).hello(1));
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(2 * hello_timeout_s));
    const FileDescriptor worker = connected_worker(1);
    EXPECT_TRUE(is_closed(silent));
    EXPECT_TRUE(is_closed(wrong));
  });
  EXPECT_EQ(listener_.accept({1}, 10).size(), 1U);
  late.join();
}

// More than the process may keep open.
TEST_F(PeerListenerTest, SurvivesACrowd) {
  const FileDescriptor first = connected_worker(1);
  std::vector<FileDescriptor> crowd;
  std::generate_n(std::back_inserter(crowd), 300, [this] { return connect_to_listener(); });
  const FileDescriptor last = connected_worker(2);
  EXPECT_EQ(listener_.accept({1, 2}, 10).size(), 2U);
}

TEST_F(PeerListenerTest, NamesTheWorkersThatDoNotCome) {
  const FileDescriptor worker = connected_worker(2);
  EXPECT_THAT(
      [&] {
        listener_.accept({2, 4, 5}, 0.2);
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("rank 4, 5 to connect: none did for 0.2 s")));
}

}  // namespace
}  // namespace thinpipe::trainer
