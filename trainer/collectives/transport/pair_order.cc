// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/pair_order.hh"

#include <algorithm>
#include <numeric>

namespace thinpipe::trainer {

// By the circle method: one worker stays, the others go around, and opposite ones meet. With an odd number, one is free.
PairOrder order_of_pairs(int workers, bool one_at_a_time) {
  PairOrder out;
  const int places = workers + workers % 2;
  std::vector<int> circle(static_cast<std::size_t>(places));
  std::iota(circle.begin(), circle.end(), 0);
  for (int round = 1; round < places; ++round) {
    std::vector<std::pair<int, int>> together;
    for (std::size_t i = 0; i < circle.size() / 2; ++i) {
      const auto [lower, higher] = std::minmax(circle[i], circle[circle.size() - 1 - i]);
      if (higher < workers) together.emplace_back(lower, higher);
    }
    if (one_at_a_time) {
      for (const auto& pair : together) out.push_back({pair});
    } else {
      out.push_back(std::move(together));
    }
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
  return out;
}

}  // namespace thinpipe::trainer
