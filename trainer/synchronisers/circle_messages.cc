// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/circle_messages.hh"

#include <algorithm>

namespace thinpipe::trainer {

torch::Tensor pass_on(const torch::Tensor& message, int to, int from, Collective& network) {
  const auto workers = static_cast<std::size_t>(network.world_size());
  std::vector<std::int64_t> sent(workers);
  std::vector<std::int64_t> received(workers);
  sent[static_cast<std::size_t>(to)] = message.numel();
  received[static_cast<std::size_t>(from)] = message.numel();
  return network.all_to_all_v(message, sent, received);
}

Messages gather_around(const torch::Tensor& message, const Circle& circle, int place, Collective& network) {
  const std::int64_t bytes = message.numel();
  Messages held = {message};  // of the worker's own place and of those that follow it
  for (int distance = 1; distance < circle.size; distance *= 2) {
    const int count = std::min(distance, circle.size - distance);
    const torch::Tensor sent = torch::cat(Messages(held.begin(), held.begin() + count));
    const torch::Tensor received = pass_on(sent, circle.rank_at(place - distance),
                                           circle.rank_at((place + distance) % circle.size), network);
    for (int i = 0; i < count; ++i) held.push_back(received.narrow(0, i * bytes, bytes));
  }
  std::ranges::rotate(held, held.end() - place);
  return held;
}

ExpectedTraffic gather_around_traffic(std::int64_t message_bytes, int size, int stride) {
  ExpectedTraffic traffic;
  for (int distance = 1; distance < size; distance *= 2) {
    const int count = std::min(distance, size - distance);
    traffic += shift_traffic(count * message_bytes,
                             {.group = size * stride, .distance = (size - distance) * stride});
  }
  return traffic;
}

}  // namespace thinpipe::trainer
