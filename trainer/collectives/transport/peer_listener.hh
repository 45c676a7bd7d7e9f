// SPDX-License-Identifier: Apache-2.0
// Accepts the connections of other workers, and of nobody else. On a real network anybody may connect: a stranger who sends
// something else, or nothing, loses the connection and is named in the log, while the workers' connections go on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    PeerChallenge challenge = {};
  };

  struct Options {
    std::string address;                          // to listen at
    std::vector<std::uint16_t> ports = {};        // the first that is free; empty: any port
    std::optional<RunToken> secret = {};          // see PeerProof
    std::optional<PeerChallenge> challenge = {};  // nullopt: a random one
    double hello_timeout_s = 5;                   // the time that a connection has to prove itself
  };

  // Throws Error naming the address.
  explicit PeerListener(const Options& options);

  const Notice& notice() const { return notice_; }

  // Waits until each of these workers has connected, and proves to it that it has reached this listener. Throws Error naming
  // those that have not if none does for `timeout_s`.
  std::map<int, FileDescriptor> accept(std::vector<int> ranks, double timeout_s) const;

 private:
  FileDescriptor socket_;
  Notice notice_;
  PeerProof proof_;
  double hello_timeout_s_;
};

}  // namespace thinpipe::trainer
