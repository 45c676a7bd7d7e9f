// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/rendezvous.hh"

#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/tests/stoppable_child.hh"
#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/transport/peer_sockets.hh"

namespace thinpipe::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int workers = 4;

std::uint16_t port_of(const PeerListener& listener) {
  sockaddr_in address{};
  std::memcpy(&address, &listener.notice().address, sizeof address);
  return ntohs(address.sin_port);
}

std::uint16_t free_port() {
  return port_of(PeerListener({.address = "127.0.0.1"}));
}

std::string at(std::uint16_t port) {
  return fmt::format("127.0.0.1:{}", port);
}

FileDescriptor connected_stranger(std::uint16_t port) {
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  FileDescriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  while (::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return out;
}

class Rendezvous : public testing::Test {
 protected:
  GroupOptions group(int rank, const std::vector<std::string>& addresses) const {
    return {.rank = rank,
            .world_size = workers,
            .address = "127.0.0.1",
            .rendezvous_directory = folder_.path(),
            .rendezvous_addresses = addresses};
  }

  // Lets all workers meet and connect, and sends a byte along each connection.
  void expect_all_to_connect(const std::vector<std::string>& addresses,
                             const std::optional<RunToken>& secret) {
    std::vector<std::exception_ptr> failures(workers);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < workers; ++rank) {
        threads.emplace_back([&, rank] {
          try {
            connect(group(rank, addresses), secret);
          } catch (...) {
            failures[static_cast<std::size_t>(rank)] = std::current_exception();
          }
        });
      }
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  static void connect(const GroupOptions& group, const std::optional<RunToken>& secret) {
    const PeerListener listener({.address = group.address, .secret = secret});
    const auto notices = meet(group, secret, listener.notice(), 30);
    std::vector<int> others(workers);
    std::iota(others.begin(), others.end(), 0);
    std::erase(others, group.rank);
    const auto sockets = connect_sockets(listener, secret, notices, group.rank, others, 30);
    for (const auto& [peer, socket] : sockets) {
      const auto own = static_cast<char>(group.rank);
      EXPECT_EQ(::send(socket.get(), &own, 1, MSG_NOSIGNAL), 1);
    }
    for (const auto& [peer, socket] : sockets) {
      char received = -1;
      while (::recv(socket.get(), &received, 1, 0) < 0 && errno == EAGAIN) std::this_thread::yield();
      EXPECT_EQ(received, peer);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Rendezvous, IsInAFolder) {
  expect_all_to_connect({}, std::nullopt);
}

TEST_F(Rendezvous, InAFolderMayHaveASecretThatTheFolderDoesNotTell) {
  const RunToken secret = random_run_token();
  expect_all_to_connect({}, secret);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string text = read_file(entry.path());
    EXPECT_EQ(text.find(std::string(reinterpret_cast<const char*>(secret.data()), secret.size())),
              std::string::npos);
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077), std::filesystem::perms::none);
    ++files;
  }
  EXPECT_EQ(files, workers);
}

TEST_F(Rendezvous, IsAtTheFirstWorkersAddress) {
  expect_all_to_connect({at(free_port())}, random_run_token());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// At the first port listens another run, and at the second a program that never says anything.
TEST_F(Rendezvous, PassesByPortsOfOthers) {
  const PeerListener silent({.address = "127.0.0.1"});
  const PeerListener other_run({.address = "127.0.0.1",
                                .secret = random_run_token(),
                                .challenge = PeerChallenge{},
                                .hello_timeout_s = 1});
  std::jthread accepting([&other_run] {
    try {
      other_run.accept({1, 2, 3}, 6);
    } catch (const Error&) {
      // Nobody knew its secret.
    }
  });
  expect_all_to_connect({at(port_of(other_run)), at(port_of(silent)), at(free_port())}, random_run_token());
}

TEST_F(Rendezvous, GoesOnWhateverStrangersDo) {
  const std::uint16_t port = free_port();
  std::vector<FileDescriptor> strangers;
  std::jthread crowd([&] {
    for (int i = 0; i < 20; ++i) {
      strangers.push_back(connected_stranger(port));
      const std::string text = i % 2 == 0 ? "" : std::string(1000, static_cast<char>(i));
      [[maybe_unused]] const ssize_t sent =
          ::send(strangers.back().get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  });
  const RunToken secret = random_run_token();
  std::exception_ptr failure;
  std::jthread first([&] {
    try {
      connect(group(0, {at(port)}), secret);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  crowd.join();  // strangers come first
  std::vector<std::jthread> others;
  for (int rank = 1; rank < workers; ++rank)
    others.emplace_back([&, rank] { EXPECT_NO_THROW(connect(group(rank, {at(port)}), secret)); });
  others.clear();
  first.join();
  EXPECT_FALSE(failure);
}

// Connects as rank 1 of two to rank 0's rendezvous, up to its notice.
OutgoingPeer second_of_two(std::uint16_t port, const RunToken& secret, const PeerListener& own) {
  PeerListener::Notice place = own.notice();
  sockaddr_in address{};
  std::memcpy(&address, &place.address, sizeof address);
  address.sin_port = htons(port);
  std::memcpy(&place.address, &address, sizeof address);
  connected_stranger(port);  // returns once rank 0 listens
  OutgoingPeer out(place, nullptr, PeerProof(secret, PeerChallenge{}), 1, 30, "join");
  out.expect_answer();
  return out;
}

TEST_F(Rendezvous, SurvivesAStop) {
  const RunToken secret = random_run_token();
  const std::uint16_t port = free_port();
  GroupOptions first = group(0, {at(port)});
  first.world_size = 2;
  const PeerListener own({.address = "127.0.0.1"});
  StoppableChild child([&] { meet(first, secret, own.notice(), 30); });
  OutgoingPeer second = second_of_two(port, secret, own);
  ASSERT_TRUE(child.wait_for_call(SYS_recvfrom));
  ASSERT_TRUE(child.stop_and_continue());
  second.send(std::as_bytes(std::span(&own.notice(), 1)));
  EXPECT_TRUE(child.succeeds());
}

TEST_F(Rendezvous, AWorkerThatLeavesInTheMiddleIsNamed) {
  const RunToken secret = random_run_token();
  const std::uint16_t port = free_port();
  GroupOptions first = group(0, {at(port)});
  first.world_size = 2;
  const PeerListener own({.address = "127.0.0.1"});
  std::jthread leaver(
      [&] { second_of_two(port, secret, own).send(std::as_bytes(std::span(&own.notice(), 1)).first(10)); });
  EXPECT_THAT([&] { meet(first, secret, own.notice(), 30); },
              ThrowsMessage<Error>("receive the notice of rank 1: it has closed the connection"));
}

// A queue of connections that is full makes the next one wait.
TEST(OutgoingPeers, ConnectAlthoughTheyAreStopped) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  PeerListener::Notice place;
  place.address_bytes = sizeof(sockaddr_in);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  std::memcpy(&place.address, &address, sizeof address);
  auto* const generic = reinterpret_cast<sockaddr*>(&place.address);
  ASSERT_EQ(::bind(listener.get(), generic, place.address_bytes), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &place.address_bytes), 0);
  std::memcpy(&address, &place.address, sizeof address);
  const FileDescriptor queued = connected_stranger(ntohs(address.sin_port));
  StoppableChild child(
      [&] { OutgoingPeer(place, nullptr, PeerProof(random_run_token(), {}), 1, 30, "connect"); });
  ASSERT_TRUE(child.wait_for_call(SYS_connect));
  ASSERT_TRUE(child.stop_and_continue());
  ASSERT_TRUE(child.wait_for_call(SYS_connect));
  const FileDescriptor first(::accept(listener.get(), nullptr, nullptr));
  const FileDescriptor second(::accept(listener.get(), nullptr, nullptr));
  EXPECT_TRUE(child.succeeds());
}

TEST_F(Rendezvous, NamesThoseThatDoNotCome) {
  const PeerListener own({.address = "127.0.0.1"});
  const RunToken secret = random_run_token();
  const auto meet_at = [&](int rank, const std::vector<std::string>& addresses,
                           const std::optional<RunToken>& token) {
    return [=, this, &own] { meet(group(rank, addresses), token, own.notice(), 0.2); };
  };
  const std::string free = at(free_port());
  EXPECT_THAT(meet_at(1, {}, std::nullopt), ThrowsMessage<Error>(HasSubstr("wait for rank 0, 2, 3 in ")));
  EXPECT_THAT(meet_at(0, {free}, secret),
              ThrowsMessage<Error>(HasSubstr("wait for rank 1, 2, 3 to connect")));
  EXPECT_THAT(meet_at(1, {free}, secret),
              ThrowsMessage<Error>(HasSubstr("join the rendezvous at 127.0.0.1, port ")));
  EXPECT_THAT(meet_at(1, {free}, std::nullopt), ThrowsMessage<Error>(HasSubstr("needs the run's token")));
  for (const char* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:1x"})
    EXPECT_THAT(meet_at(1, {wrong}, secret), ThrowsMessage<Error>(HasSubstr("read the rendezvous"))) << wrong;
}

}  // namespace
}  // namespace thinpipe::trainer
