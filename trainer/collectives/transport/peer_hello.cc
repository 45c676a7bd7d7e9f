// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer_hello.hh"

#include <algorithm>
#include <cstring>
#include <random>

namespace thinpipe::trainer {

PeerToken random_token() {
  std::random_device random;
  PeerToken out;
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

PeerHello hello_of(const PeerToken& token, int rank) {
  PeerHello out;
  std::ranges::copy(token, out.begin());
  const auto number = static_cast<std::uint32_t>(rank);
  std::memcpy(out.data() + token.size(), &number, sizeof number);
  return out;
}

// Looks at all bytes before it answers, so that the time does not tell how many were right.
bool IncomingHello::is_wrong() const {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < std::min(size_, token_.size()); ++i) difference |= bytes_[i] ^ token_[i];
  return difference != std::byte{0};
}

std::optional<std::uint32_t> IncomingHello::rank() const {
  if (size_ < bytes_.size() || is_wrong()) return std::nullopt;
  std::uint32_t out = 0;
  std::memcpy(&out, bytes_.data() + token_.size(), sizeof out);
  return out;
}

}  // namespace thinpipe::trainer
