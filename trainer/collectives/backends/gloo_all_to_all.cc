// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo_all_to_all.hh"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gloo/transport/unbound_buffer.h>

namespace thinpipe::trainer {
namespace {

std::vector<std::size_t> offsets_of(std::span<const std::size_t> sizes) {
  std::vector<std::size_t> offsets(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::size_t{0});
  return offsets;
}

}  // namespace

void gloo_all_to_all(gloo::Context& context, std::span<const std::byte> sent,
                     std::span<const std::size_t> sent_bytes, std::span<std::byte> received,
                     std::span<const std::size_t> received_bytes, std::uint64_t slot) {
  const std::vector<std::size_t> sent_at = offsets_of(sent_bytes);
  const std::vector<std::size_t> received_at = offsets_of(received_bytes);
  // Gloo takes no pointers to const, but only reads what it sends.
  const auto out = context.createUnboundBuffer(const_cast<std::byte*>(sent.data()), sent.size());
  const auto in = context.createUnboundBuffer(received.data(), received.size());
  // Beginning with its neighbour, so that not all workers send to the same one first.
  const auto after = [&](int distance) { return (context.rank + distance) % context.size; };
  std::ptrdiff_t awaited = 0;
  for (int distance = 1; distance < context.size; ++distance) {
    const int from = after(context.size - distance);
    if (received_bytes[from] == 0) continue;
    in->recv(from, slot, received_at[from], received_bytes[from]);
    ++awaited;
  }
  std::ptrdiff_t leaving = 0;
  for (int distance = 1; distance < context.size; ++distance) {
    const int to = after(distance);
    if (sent_bytes[to] == 0) continue;
    out->send(to, slot, sent_at[to], sent_bytes[to]);
    ++leaving;
  }
  const int own = context.rank;
  std::ranges::copy(sent.subspan(sent_at[own], sent_bytes[own]),
                    received.begin() + static_cast<std::ptrdiff_t>(received_at[own]));
  while (awaited-- > 0) in->waitRecv();
  while (leaving-- > 0) out->waitSend();
}

}  // namespace thinpipe::trainer
