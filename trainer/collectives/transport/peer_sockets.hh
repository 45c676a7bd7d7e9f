// SPDX-License-Identifier: Apache-2.0
// Connects workers to each other's listeners.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/collectives/transport/peer_listener.hh"

namespace thinpipe::trainer {

// Sets how long connecting, sending and receiving may block. If the process is stopped and continued, the time starts again.
void set_timeouts(const FileDescriptor& socket, double timeout_s);

// Sends all bytes through a blocking socket. Throws SystemError. `attempt`: for messages.
void send_bytes(const FileDescriptor& socket, std::span<const std::byte> bytes, const std::string& attempt);
// Fills `into`. Throws Error if the connection ends first, SystemError if nothing arrives in time.
void receive_bytes(const FileDescriptor& socket, std::span<std::byte> into, const std::string& attempt);

// A connection to a listener, which has got a hello.
class OutgoingPeer {
 public:
  // `from`: bound to its address, at any port, unless nullptr. `attempt`: for messages. Every step of the connection takes at
  // most `timeout_s`. Throws Error.
  OutgoingPeer(const PeerListener::Notice& to, const PeerListener::Notice* from, const PeerProof& proof,
               int own_rank, double timeout_s, std::string attempt);

  // Sends further bytes. Throws SystemError.
  void send(std::span<const std::byte> bytes);
  // Fills `into`. Throws Error if the connection ends first or nothing arrives in time.
  void receive(std::span<std::byte> into);
  // Throws Error unless the listener proves that it is the group's.
  void expect_answer();

  void set_timeout(double timeout_s) { set_timeouts(socket_, timeout_s); }
  FileDescriptor take() { return std::move(socket_); }

 private:
  std::string attempt_;
  FileDescriptor socket_;
  PeerProof proof_;
  PeerHello hello_;
};

// Connects this worker to those it names, which must name it too: the higher rank of a pair connects. `notices`: by rank.
// Throws Error.
std::map<int, FileDescriptor> connect_sockets(const PeerListener& listener,
                                              const std::optional<RunToken>& secret,
                                              const std::vector<PeerListener::Notice>& notices, int own_rank,
                                              const std::vector<int>& peers, double timeout_s);

}  // namespace thinpipe::trainer
