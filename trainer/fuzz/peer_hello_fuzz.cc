// SPDX-License-Identifier: Apache-2.0
// A hello in pieces of any sizes: read to its end or refused, whatever the bytes.
#include <algorithm>
#include <cstdlib>

#include "trainer/collectives/transport/peer_hello.hh"

using thinpipe::trainer::hello_of;
using thinpipe::trainer::IncomingHello;
using thinpipe::trainer::PeerHello;
using thinpipe::trainer::PeerToken;

// The first byte is the size of a piece.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} % sizeof(PeerHello) + 1;
  PeerToken token;
  std::fill(token.begin(), token.end(), std::byte{0x2a});
  IncomingHello hello(token);
  std::size_t next = 1;
  while (next < size && !hello.missing().empty() && !hello.is_wrong()) {
    const std::size_t count = std::min({piece, hello.missing().size(), size - next});
    std::transform(data + next, data + next + count, hello.missing().begin(),
                   [](std::uint8_t byte) { return static_cast<std::byte>(byte); });
    hello.arrived(count);
    next += count;
  }
  if (!hello.rank()) return 0;
  const PeerHello expected = hello_of(token, static_cast<int>(*hello.rank()));
  const bool agrees = std::equal(expected.begin(), expected.end(), data + 1,
                                 [](std::byte a, std::uint8_t b) { return a == static_cast<std::byte>(b); });
  if (!agrees) std::abort();
  return 0;
}
