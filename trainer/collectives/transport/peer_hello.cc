// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer_hello.hh"

#include <algorithm>
#include <cstring>
#include <vector>

namespace thinpipe::trainer {
namespace {

constexpr std::array beginning_of_hello = {std::byte{'T'}, std::byte{'P'}, std::byte{'H'}, std::byte{'2'}};
constexpr std::size_t rank_at = beginning_of_hello.size();
constexpr std::size_t nonce_at = rank_at + sizeof(std::uint32_t);
constexpr std::size_t proof_at = nonce_at + sizeof(RunToken);

// A worker's hello is no answer to another's.
constexpr auto from_worker = std::byte{'w'};
constexpr auto from_listener = std::byte{'l'};

}  // namespace

KeyedHash PeerProof::proof(std::byte sender, std::span<const std::byte> text) const {
  std::vector<std::byte> message = {sender};
  message.insert(message.end(), challenge_.begin(), challenge_.end());
  message.insert(message.end(), text.begin(), text.end());
  return keyed_hash(key_, message);
}

PeerHello PeerProof::hello(int rank) const {
  PeerHello out{};
  std::ranges::copy(beginning_of_hello, out.begin());
  const auto number = static_cast<std::uint32_t>(rank);
  std::memcpy(out.data() + rank_at, &number, sizeof number);
  std::ranges::copy(random_run_token(), out.begin() + nonce_at);
  std::ranges::copy(proof(from_worker, std::span(out).first(proof_at)), out.begin() + proof_at);
  return out;
}

bool PeerProof::holds(const PeerHello& hello) const {
  const auto bytes = std::span(hello);
  return same_bytes(bytes.subspan(proof_at), proof(from_worker, bytes.first(proof_at)));
}

KeyedHash PeerProof::answer(const PeerHello& hello) const {
  return proof(from_listener, std::span(hello).first(proof_at));
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= a[i] ^ b[i];
  return a.size() == b.size() && difference == std::byte{0};
}

bool IncomingHello::is_wrong() const {
  const std::size_t known = std::min(size_, beginning_of_hello.size());
  if (!std::equal(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(known),
                  beginning_of_hello.begin()))
    return true;
  return size_ == bytes_.size() && !proof_.holds(bytes_);
}

std::optional<std::uint32_t> IncomingHello::rank() const {
  if (size_ < bytes_.size() || is_wrong()) return std::nullopt;
  std::uint32_t out = 0;
  std::memcpy(&out, bytes_.data() + rank_at, sizeof out);
  return out;
}

}  // namespace thinpipe::trainer
