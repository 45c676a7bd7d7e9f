// SPDX-License-Identifier: Apache-2.0
// A hello in pieces of any sizes: read to its end or refused, whatever the bytes.
#include <algorithm>
#include <cstdlib>

#include "trainer/collectives/transport/peer_hello.hh"

using thinpipe::RunToken;
using thinpipe::trainer::IncomingHello;
using thinpipe::trainer::PeerHello;
using thinpipe::trainer::PeerProof;

// The first byte is the size of a piece.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} % sizeof(PeerHello) + 1;
  RunToken token;
  std::fill(token.begin(), token.end(), std::byte{0x2a});
  const PeerProof proof(token, {});
  IncomingHello hello(proof);
  std::size_t next = 1;
  while (next < size && !hello.missing().empty() && !hello.is_wrong()) {
    const std::size_t count = std::min({piece, hello.missing().size(), size - next});
    std::transform(data + next, data + next + count, hello.missing().begin(),
                   [](std::uint8_t byte) { return static_cast<std::byte>(byte); });
    hello.arrived(count);
    next += count;
  }
  PeerHello sent{};
  if (size > sent.size())
    std::transform(data + 1, data + 1 + sent.size(), sent.begin(),
                   [](std::uint8_t byte) { return static_cast<std::byte>(byte); });
  // A rank is that of a whole hello that proves the secret.
  if (hello.rank().has_value() != (size > sent.size() && sent.front() == std::byte{'T'} && proof.holds(sent)))
    std::abort();
  if (hello.rank() && hello.answer() != proof.answer(sent)) std::abort();
  return 0;
}
