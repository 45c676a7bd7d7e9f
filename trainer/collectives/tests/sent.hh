// SPDX-License-Identifier: Apache-2.0
// Measures the bytes that workers send over a network backend, by the kernel's counters and by their meters.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer::testing {

// Returns the bytes that this process's TCP connections have sent, without retransmissions and headers below
// TCP.
inline std::int64_t tcp_sent_bytes() {
  std::int64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
    if (length < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) {
      throw Error("read TCP_INFO: this kernel does not count sent bytes; Linux 4.19 does");
    }
    total += static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans);
  }
  return total;
}

// The bytes that all workers together send, by the kernel and by their meters.
struct Sent {
  std::int64_t counted = 0;
  double said = 0;
};

// Runs `operation` once on each worker.
inline Sent measure_sent(const std::string& backend, int world_size,
                         const std::function<void(Collective&)>& operation) {
  std::atomic<std::int64_t> before = 0;
  std::atomic<std::int64_t> after = 0;
  std::atomic<double> said = 0;
  run_world(backend, world_size, [&](Collective& net) {
    MeteredCollective metered(std::make_unique<Borrowed>(net));
    net.barrier();
    if (net.rank() == 0) before = tcp_sent_bytes();
    net.barrier();
    operation(metered);
    said += metered.traffic().sent_bytes;
    net.barrier();
    if (net.rank() == 0) after = tcp_sent_bytes();
    net.barrier();
  });
  return {.counted = after - before, .said = said};
}

}  // namespace thinpipe::trainer::testing
