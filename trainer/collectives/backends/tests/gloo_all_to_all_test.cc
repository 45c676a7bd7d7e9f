// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo_all_to_all.hh"

#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/gloo_context.hh"
#include "trainer/collectives/tests/tcp_connection.hh"

namespace thinpipe::trainer {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

constexpr std::size_t block_bytes = std::size_t{16} << 20;  // more than the buffers of connections hold
constexpr auto patience = 10s;
constexpr auto timeout = 60s;  // after the test has given up

bool eventually(const auto& condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// A connection between workers 0 and 1 that holds back what worker 0 sends beyond some bytes, until it is released.
class HeldConnection {
 public:
  explicit HeldConnection(std::size_t passes_bytes) : passes_bytes_(passes_bytes) {
    auto [zero, near_zero] = tcp_connection();
    auto [near_one, one] = tcp_connection();
    ends_ = {std::move(zero), std::move(one)};
    middle_ = {std::move(near_zero), std::move(near_one)};
    there_ = std::jthread([this] { pass(middle_.first.get(), middle_.second.get(), there_bytes_, true); });
    back_ = std::jthread([this] { pass(middle_.second.get(), middle_.first.get(), back_bytes_, false); });
  }
  HeldConnection(const HeldConnection&) = delete;
  HeldConnection& operator=(const HeldConnection&) = delete;
  ~HeldConnection() {
    release();
    for (const FileDescriptor* each : {&middle_.first, &middle_.second}) ::shutdown(each->get(), SHUT_RDWR);
  }

  FileDescriptor take_end(int worker) { return std::move(worker == 0 ? ends_.first : ends_.second); }
  void release() {
    released_ = true;
    released_.notify_all();
  }
  std::size_t there_bytes() const { return there_bytes_; }  // from worker 0 to worker 1
  std::size_t back_bytes() const { return back_bytes_; }

 private:
  void pass(int from, int to, std::atomic<std::size_t>& passed, bool held) {
    Bytes buffer(16 << 10);
    while (true) {
      const ssize_t came = ::recv(from, buffer.data(), buffer.size(), 0);
      if (came <= 0) break;
      if (held && passed >= passes_bytes_) released_.wait(false);
      for (ssize_t sent = 0; sent < came;) {
        const ssize_t went = ::send(to, &buffer[static_cast<std::size_t>(sent)],
                                    static_cast<std::size_t>(came - sent), MSG_NOSIGNAL);
        if (went < 0) return;
        sent += went;
      }
      passed += static_cast<std::size_t>(came);
    }
    ::shutdown(to, SHUT_WR);
  }

  std::size_t passes_bytes_;
  std::atomic<bool> released_ = false;
  std::atomic<std::size_t> there_bytes_ = 0;
  std::atomic<std::size_t> back_bytes_ = 0;
  std::pair<FileDescriptor, FileDescriptor> ends_;
  std::pair<FileDescriptor, FileDescriptor> middle_;
  std::jthread there_;
  std::jthread back_;
};

std::shared_ptr<gloo::Context> context_of(int rank, HeldConnection& connection) {
  std::map<int, FileDescriptor> sockets;
  sockets.emplace(1 - rank, connection.take_end(rank));
  return gloo_context_over(rank, 2, std::move(sockets), timeout);
}

// Sends a block of its own rank's number to the other worker, and returns what it receives.
Bytes exchange(gloo::Context& context) {
  std::vector<std::size_t> sizes(2, block_bytes);
  sizes[static_cast<std::size_t>(context.rank)] = 0;
  const Bytes sent(block_bytes, std::byte(context.rank));
  Bytes received(block_bytes);
  gloo_all_to_all(context, sent, sizes, received, sizes, 1);
  return received;
}

// Also for the worker that comes last, which finds the other one ready to receive its block: its own notice must not
// wait behind that block.
TEST(GlooAllToAll, TwoWorkersSendToEachOtherAtTheSameTime) {
  HeldConnection connection(1 << 20);
  const auto zero = context_of(0, connection);
  const auto one = context_of(1, connection);
  Bytes received_by_one;
  Bytes received_by_zero;
  std::jthread early([&] { received_by_one = exchange(*one); });
  EXPECT_TRUE(eventually([&] { return connection.back_bytes() > 0; })) << "the notice of worker 1";
  std::jthread late([&] { received_by_zero = exchange(*zero); });
  EXPECT_TRUE(eventually([&] { return connection.back_bytes() > block_bytes; }))
      << "worker 1 waits for the block of worker 0";
  EXPECT_LT(connection.there_bytes(), block_bytes);
  connection.release();
  early.join();
  late.join();
  EXPECT_EQ(received_by_one, Bytes(block_bytes, std::byte(0)));
  EXPECT_EQ(received_by_zero, Bytes(block_bytes, std::byte(1)));
}

}  // namespace
}  // namespace thinpipe::trainer
