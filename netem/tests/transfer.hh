// SPDX-License-Identifier: Apache-2.0
// A number of bytes through a connection.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "netem/kernel/host_sockets.hh"

namespace thinpipe::netem {

// Sends that much from the client, and waits until all has arrived and been acknowledged.
inline void transfer(const Connection& connection, std::size_t bytes) {
  std::jthread sender([&] { write_all(connection.client, std::string(bytes, 'x'), "send"); });
  std::string buffer(1 << 16, '\0');
  for (std::size_t got = 0; got < bytes;) {
    got += static_cast<std::size_t>(
        system_call("receive", ::recv(connection.server.get(), buffer.data(), buffer.size(), 0)));
  }
  sender.join();
  // The last acknowledgement is delayed by 40 ms at most.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

}  // namespace thinpipe::netem
