// SPDX-License-Identifier: Apache-2.0
// Exchanges that sum THC's codes over workers: Y_i = Σ_w T[z_w,i]. Sums are integers, so every exchange gives
// the same.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/expected_traffic.hh"
#include "trainer/synchronisers/quantised/thc_table.hh"

namespace thinpipe::trainer {

class ThcExchange {
 public:
  ThcExchange() = default;
  virtual ~ThcExchange() = default;
  ThcExchange(const ThcExchange&) = delete;
  ThcExchange& operator=(const ThcExchange&) = delete;
  ThcExchange(ThcExchange&&) = delete;
  ThcExchange& operator=(ThcExchange&&) = delete;

  // Returns Y, one sum per code, for at most max_workers() workers.
  virtual std::vector<std::uint16_t> sum(std::span<const std::uint8_t> codes, Collective& network) const = 0;

  // Returns the traffic for `codes` codes.
  virtual ExpectedTraffic traffic(std::int64_t codes, int world_size) const = 0;

  virtual bool all_reduce_compatible() const = 0;

  // Returns the largest number of workers that the integers allow.
  virtual int max_workers() const = 0;
};

// Sends codes of 2, 4 or 8 bits to the worker that owns their shard, which sums their levels. Returns the
// sums in 8 bits if they fit, otherwise in 16.
std::unique_ptr<ThcExchange> make_sharded_thc_exchange(const ThcTable& table);

// All-reduces levels less half the grid, as int8.
std::unique_ptr<ThcExchange> make_all_reduce_thc_exchange(const ThcTable& table);

}  // namespace thinpipe::trainer
