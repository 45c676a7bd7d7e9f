// SPDX-License-Identifier: Apache-2.0
// Accepts the connections of other workers, and of nobody else. On a real network anybody may connect: a stranger who sends
// something else, or nothing, loses the connection and is named in the log, while the workers' connections go on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "common/support/file_descriptor.hh"
#include "trainer/collectives/transport/peer_hello.hh"

namespace thinpipe::trainer {

class PeerListener {
 public:
  // What other workers need to connect. It is exchanged as bytes.
  struct Notice {
    sockaddr_storage address = {};
    socklen_t address_bytes = 0;
    PeerToken token = {};
  };

  // Listens at this address, at any port. `hello_timeout_s`: the time that a connection has to prove itself. Throws Error
  // naming the address.
  explicit PeerListener(const std::string& address, double hello_timeout_s = 5);

  const Notice& notice() const { return notice_; }

  // Waits until each of these workers has connected. Throws Error naming those that have not if none does for `timeout_s`.
  std::map<int, FileDescriptor> accept(std::vector<int> ranks, double timeout_s) const;

 private:
  FileDescriptor socket_;
  Notice notice_;
  double hello_timeout_s_;
};

}  // namespace thinpipe::trainer
