// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/push_pull.hh"

#include <algorithm>
#include <numeric>

namespace thinpipe::trainer {
namespace {

std::int64_t total_of(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

ExpectedTraffic push_pull_sizes(int world_size) {
  return exchanged_sizes_traffic(world_size) + gathered_sizes_traffic(world_size);
}

}  // namespace

ExpectedTraffic push_pull_at_most(const PushPullBytes& bytes) {
  const auto world_size = static_cast<int>(bytes.pushed.size());
  const std::int64_t pushed = total_of(bytes.pushed);
  const std::int64_t pulled = total_of(bytes.pulled);
  std::int64_t sent = 0;
  std::int64_t delivered = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    sent = std::max(sent, pushed - bytes.pushed[rank] + ring_all_gather_v_sent_bytes(bytes.pulled, rank));
    delivered = std::max(delivered, (world_size - 1) * bytes.pushed[rank] + pulled - bytes.pulled[rank]);
  }
  const ExpectedTraffic messages{
      .payload_bytes = static_cast<double>(pushed + std::ranges::max(bytes.pulled)),
      .sent_bytes = static_cast<double>(sent),
      .pairwise_bytes = static_cast<double>(pushed),
      .delivered_bytes = static_cast<double>(delivered)};
  return push_pull_sizes(world_size) + messages;
}

ExpectedTraffic push_pull_mean(const PushPullBytes& bytes) {
  const auto world_size = static_cast<int>(bytes.pushed.size());
  const auto pushed = static_cast<double>(total_of(bytes.pushed));
  const auto pulled = static_cast<double>(total_of(bytes.pulled));
  const double leaving = static_cast<double>(world_size - 1) / world_size;
  const ExpectedTraffic messages{.payload_bytes = pushed + pulled / world_size,
                                 .sent_bytes = (pushed + pulled) * (world_size - 1) / world_size,
                                 .pairwise_bytes = pushed * leaving,
                                 .gathered_bytes = pulled * leaving,
                                 .delivered_bytes = (pushed + pulled) * leaving};
  return push_pull_sizes(world_size) + messages;
}

}  // namespace thinpipe::trainer
