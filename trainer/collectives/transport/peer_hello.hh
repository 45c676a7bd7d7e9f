// SPDX-License-Identifier: Apache-2.0
// What a worker sends first on a connection to another, to prove that it is one of the group, and what it gets in return.
// Neither tells the secret. Pure, but for random numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/protocol/run_token.hh"
#include "trainer/collectives/transport/keyed_hash.hh"

namespace thinpipe::trainer {

// A listener's random number. A proof is good for one challenge, so those of other connections cannot be repeated.
using PeerChallenge = RunToken;

// A fixed text, the sender's rank, a random number of its own, and a proof of the secret.
inline constexpr std::size_t peer_hello_bytes = 4 + sizeof(std::uint32_t) + 2 * sizeof(KeyedHash);
using PeerHello = std::array<std::byte, peer_hello_bytes>;

// Makes and checks the proofs for one listener.
class PeerProof {
 public:
  // secret: nullopt if nobody but the group learns the challenge, which then is the secret, too.
  PeerProof(const std::optional<RunToken>& secret, const PeerChallenge& challenge)
      : key_(secret.value_or(challenge)), challenge_(challenge) {}

  PeerHello hello(int rank) const;
  bool holds(const PeerHello& hello) const;

  // Returns the listener's own proof, for the sender of that hello.
  KeyedHash answer(const PeerHello& hello) const;

 private:
  KeyedHash proof(std::byte sender, std::span<const std::byte> text) const;

  HashKey key_;
  PeerChallenge challenge_;
};

// Compares all bytes, so that the time does not tell how many are right.
bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b);

// Reads a hello that arrives in pieces. Nothing that a stranger sends is trusted.
class IncomingHello {
 public:
  explicit IncomingHello(const PeerProof& proof) : proof_(proof) {}

  // Returns where the next bytes belong; empty if no more are needed.
  std::span<std::byte> missing() { return std::span(bytes_).subspan(size_); }
  // Takes the first `count` bytes of missing(), which have arrived.
  void arrived(std::size_t count) { size_ += count; }

  // Returns whether the bytes so far begin no hello of the group.
  bool is_wrong() const;
  // Returns the sender's rank once all has arrived, unless it is wrong.
  std::optional<std::uint32_t> rank() const;
  // Needs a rank.
  KeyedHash answer() const { return proof_.answer(bytes_); }

 private:
  PeerProof proof_;
  PeerHello bytes_{};
  std::size_t size_ = 0;
};

}  // namespace thinpipe::trainer
