// SPDX-License-Identifier: Apache-2.0
// Traffic between two hosts, for tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include <sys/socket.h>

#include "netem/kernel/probe.hh"

namespace thinpipe::netem {

// A connection that sends bytes for as long as this object lives, as fast as the network allows.
class Flow {
 public:
  Flow(const Host& from, const Host& to) : connection_(connect_hosts(from, to)) {
    sender_ = std::jthread([this] {
      const std::string chunk(1 << 14, 'x');
      while (::send(connection_.client.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0) continue;
    });
    receiver_ = std::jthread([this] {
      std::string buffer(1 << 16, '\0');
      for (ssize_t got = 1; got > 0; received_ += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
        got = ::recv(connection_.server.get(), buffer.data(), buffer.size(), 0);
      }
      ended_ = true;
    });
  }
  ~Flow() {
    ::shutdown(connection_.client.get(), SHUT_RDWR);
    ::shutdown(connection_.server.get(), SHUT_RDWR);
  }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  int client() const { return connection_.client.get(); }
  std::size_t received() const { return received_; }
  bool ended() const { return ended_; }

 private:
  Connection connection_;
  std::atomic<std::size_t> received_ = 0;
  std::atomic<bool> ended_ = false;
  std::jthread sender_;
  std::jthread receiver_;
};

}  // namespace thinpipe::netem
