// SPDX-License-Identifier: Apache-2.0
// What a worker sends first on a connection to another, to prove that it is one of the group. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace thinpipe::trainer {

// A listener's secret, which its group knows.
using PeerToken = std::array<std::byte, 16>;
PeerToken random_token();

// The token and the sender's rank.
using PeerHello = std::array<std::byte, sizeof(PeerToken) + sizeof(std::uint32_t)>;
PeerHello hello_of(const PeerToken& token, int rank);

// Reads a hello that arrives in pieces. Nothing that a stranger sends is trusted.
class IncomingHello {
 public:
  explicit IncomingHello(const PeerToken& token) : token_(token) {}

  // Returns where the next bytes belong; empty if no more are needed.
  std::span<std::byte> missing() { return std::span(bytes_).subspan(size_); }
  // Takes the first `count` bytes of missing(), which have arrived.
  void arrived(std::size_t count) { size_ += count; }

  // Returns whether the bytes so far are not those of the token.
  bool is_wrong() const;
  // Returns the sender's rank once all has arrived, unless it is wrong.
  std::optional<std::uint32_t> rank() const;

 private:
  PeerToken token_;
  PeerHello bytes_{};
  std::size_t size_ = 0;
};

}  // namespace thinpipe::trainer
