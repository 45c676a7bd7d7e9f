// SPDX-License-Identifier: Apache-2.0
// Properties of all exchanges over streams: they sleep while they wait, and give up when no more data arrive.
#include "trainer/collectives/algorithms/pipelined.hh"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trainer/collectives/tests/tcp_connection.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int workers = 4;
constexpr std::size_t elements = 1 << 18;

// Small, so that little fits between two workers.
std::pair<FileDescriptor, FileDescriptor> connection() {
  return tcp_connection(32 << 10);
}

// Forwards bytes from worker 0 to worker 1, a few at a time and no more than a given number.
class SlowEdge {
 public:
  explicit SlowEdge(std::size_t passes_bytes) : passes_bytes_(passes_bytes) {
    auto [zero, near_zero] = connection();
    auto [near_one, one] = connection();
    ends_ = {std::move(zero), std::move(one)};
    middle_ = {std::move(near_zero), std::move(near_one)};
    there_ = std::jthread([this] { pass(middle_.first.get(), middle_.second.get(), true); });
    back_ = std::jthread([this] { pass(middle_.second.get(), middle_.first.get(), false); });
  }

  FileDescriptor take_end(int worker) { return std::move(worker == 0 ? ends_.first : ends_.second); }
  std::size_t passed_bytes() const { return passed_bytes_; }

 private:
  void pass(int from, int to, bool counted) {
    std::vector<std::byte> buffer(16 << 10);
    while (true) {
      const ssize_t came = recv(from, buffer.data(), buffer.size(), 0);
      if (came <= 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      auto count = static_cast<std::size_t>(came);
      if (counted) {
        count = std::min(count, passes_bytes_ - passed_bytes_);
        passed_bytes_ += count;
      }
      for (std::size_t sent = 0; sent < count;) {
        const ssize_t went = send(to, &buffer[sent], count - sent, MSG_NOSIGNAL);
        if (went < 0) break;
        sent += static_cast<std::size_t>(went);
      }
    }
    shutdown(to, SHUT_WR);
  }

  std::size_t passes_bytes_;
  std::atomic<std::size_t> passed_bytes_ = 0;
  std::pair<FileDescriptor, FileDescriptor> ends_;
  std::pair<FileDescriptor, FileDescriptor> middle_;
  std::jthread there_;
  std::jthread back_;
};

// One worker's connections to all others, by rank.
using Peers = std::map<int, Peer>;
using Exchange = std::function<void(int rank, Peers& peers, double timeout_s)>;

struct Outcome {
  std::vector<std::string> errors;
  WakeUps wake_ups;  // of all workers
  std::size_t passed_bytes = 0;
};

Outcome run(const Exchange& exchange, std::size_t passes_bytes, double timeout_s) {
  SlowEdge edge(passes_bytes);
  std::vector<Peers> peers(workers);  // which stay connected until all have ended
  for (int low = 0; low < workers; ++low) {
    for (int high = low + 1; high < workers; ++high) {
      auto ends = low + high == 1 ? std::pair(edge.take_end(0), edge.take_end(1)) : connection();
      peers[static_cast<std::size_t>(low)].emplace(high, Peer(high, std::move(ends.first)));
      peers[static_cast<std::size_t>(high)].emplace(low, Peer(low, std::move(ends.second)));
    }
  }
  Outcome outcome;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < workers; ++rank) {
      threads.emplace_back([&, rank] {
        std::string error;
        try {
          exchange(rank, peers[static_cast<std::size_t>(rank)], timeout_s);
        } catch (const std::exception& thrown) {
          error = thrown.what();
        }
        const std::lock_guard lock(mutex);
        if (!error.empty()) outcome.errors.push_back(error);
        outcome.wake_ups.all += wake_ups_of_this_thread().all;
        outcome.wake_ups.for_nothing += wake_ups_of_this_thread().for_nothing;
      });
    }
  }
  outcome.passed_bytes = edge.passed_bytes();
  return outcome;
}

// A vector of ones to be summed.
struct Ones {
  std::vector<float> values = std::vector<float>(elements, 1.0F);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  Reducible reducible = {.bytes = bytes, .element_bytes = sizeof(float), .reduce = add};

  static void add(void* into, std::span<const void* const> parts, std::size_t count) {
    for (const void* part : parts) {
      for (std::size_t i = 0; i < count; ++i)
        static_cast<float*>(into)[i] += static_cast<const float*>(part)[i];
    }
  }
  void expect_sum() const {
    EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return value == workers; }));
  }
};

// 1 is the root, with children 0 and 2; 3 is a child of 2.
TreeNeighbours neighbours_of(int rank, Peers& peers) {
  TreeNeighbours neighbours;
  if (rank != 1) neighbours.parent = &peers.at(rank == 3 ? 2 : 1);
  if (rank == 1) neighbours.children = {&peers.at(0), &peers.at(2)};
  if (rank == 2) neighbours.children = {&peers.at(3)};
  return neighbours;
}
std::vector<Branch> branches_of(int rank, Peers& peers) {
  switch (rank) {
    case 0:
      return {{&peers.at(1), {1, 2, 3}}};
    case 1:
      return {{&peers.at(0), {0}}, {&peers.at(2), {2, 3}}};
    case 2:
      return {{&peers.at(1), {1, 0}}, {&peers.at(3), {3}}};
    default:
      return {{&peers.at(2), {2, 1, 0}}};
  }
}
Peer& next(int rank, Peers& peers) {
  return peers.at((rank + 1) % workers);
}
Peer& previous(int rank, Peers& peers) {
  return peers.at((rank + workers - 1) % workers);
}

// Each worker's block is a quarter of the bytes and holds its rank.
void expect_gathered(const std::function<void(std::span<std::byte>, std::span<const std::size_t>)>& gather,
                     int rank) {
  constexpr std::size_t block = elements;
  std::vector<std::byte> bytes(workers * block);
  std::ranges::fill(std::span(bytes).subspan(static_cast<std::size_t>(rank) * block, block),
                    static_cast<std::byte>(rank));
  gather(bytes, std::vector<std::size_t>(workers, block));
  for (std::size_t i = 0; i < bytes.size(); i += block - 1)
    EXPECT_EQ(bytes[i], static_cast<std::byte>(i / block));
}

const std::map<std::string, Exchange> exchanges = {
    {"ring_all_reduce",
     [](int rank, Peers& peers, double timeout_s) {
       Ones ones;
       ring_all_reduce(ones.reducible, rank, workers, next(rank, peers), previous(rank, peers), timeout_s);
       ones.expect_sum();
     }},
    {"ring_all_gather",
     [](int rank, Peers& peers, double timeout_s) {
       const auto gather = [&](std::span<std::byte> bytes, std::span<const std::size_t> blocks) {
         ring_all_gather(bytes, blocks, static_cast<std::size_t>(rank), next(rank, peers),
                         previous(rank, peers), timeout_s);
       };
       expect_gathered(gather, rank);
     }},
    {"hypercube_all_reduce",
     [](int rank, Peers& peers, double timeout_s) {
       Ones ones;
       Peer* const partners[] = {&peers.at(rank ^ 1), &peers.at(rank ^ 2)};
       recursive_doubling_all_reduce(ones.reducible, rank, partners, timeout_s);
       ones.expect_sum();
     }},
    {"tree_all_reduce",
     [](int rank, Peers& peers, double timeout_s) {
       Ones ones;
       tree_all_reduce(ones.reducible, neighbours_of(rank, peers), timeout_s);
       ones.expect_sum();
     }},
    {"tree_all_gather",
     [](int rank, Peers& peers, double timeout_s) {
       const auto gather = [&](std::span<std::byte> bytes, std::span<const std::size_t> blocks) {
         tree_all_gather(bytes, blocks, static_cast<std::size_t>(rank), branches_of(rank, peers), timeout_s);
       };
       expect_gathered(gather, rank);
     }},
    {"tree_code_sum",
     [](int rank, Peers& peers, double timeout_s) {
       std::vector<std::int8_t> codes(4 * elements, 1);
       tree_all_reduce_quantised(codes, 1, {}, branches_of(rank, peers), timeout_s);
       EXPECT_TRUE(std::ranges::all_of(codes, [](std::int8_t code) { return code == workers; }));
     }},
    {"tree_entry_sum",
     [](int rank, Peers& peers, double timeout_s) {
       Ones ones;
       std::vector<std::uint32_t> indices(elements);
       std::iota(indices.begin(), indices.end(), 0U);
       tree_sparse_all_reduce(ones.values, indices, neighbours_of(rank, peers), timeout_s);
       ones.expect_sum();
     }},
    {"tree_entry_pass",
     [](int rank, Peers& peers, double timeout_s) {
       std::vector<EdgeBytes> edges;
       for (const auto& [neighbour, peer] : peers)
         edges.push_back({.neighbour = neighbour, .sent = 4 * elements, .received = 4 * elements});
       replay_tree_sparse_all_reduce(elements, edges, neighbours_of(rank, peers), timeout_s);
     }},
};

class Pipelined : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::size_t everything = std::size_t{1} << 40;
  const Exchange& exchange = exchanges.at(GetParam());
};

TEST_P(Pipelined, SleepsWhileASlowEdgeLetsItWait) {
  const Outcome outcome = run(exchange, everything, 20);
  EXPECT_THAT(outcome.errors, ::testing::IsEmpty());
  EXPECT_GT(outcome.wake_ups.all, 0U);
  EXPECT_LE(outcome.wake_ups.for_nothing, outcome.wake_ups.all / 4) << "of " << outcome.wake_ups.all;
}

// The sender stops in the first, a middle or the last block.
TEST_P(Pipelined, GivesUpWhenNothingMoreComes) {
  const std::size_t all = run(exchange, everything, 20).passed_bytes;
  for (const std::size_t passes : {std::size_t{1}, all / 2, all - 1}) {
    const Outcome outcome = run(exchange, passes, 0.15);
    EXPECT_THAT(outcome.errors, Contains(HasSubstr("no byte from rank 0"))) << passes << " of " << all;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pipelined, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, exchange] : exchanges) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& name) { return name.param; });

// Gives up even if an exchange waits for the wrong event, such as room to send without data to send.
TEST(PeerWait, GivesUpOnAPeerThatIsReadyForNothing) {
  auto [here, there] = connection();
  const Peer peer(5, std::move(here));
  PeerWait wait(0.05);
  const auto spin = [&] {
    while (true) {
      wait.to_send(peer);
      wait.sleep();
    }
  };
  EXPECT_THROW(spin(), Error);
}

}  // namespace
}  // namespace thinpipe::trainer
