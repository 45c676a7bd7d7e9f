// How THC's codes become sums over workers: Y_i = Σ_w T[z_w,i], integers, so that any way gives the same.
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

  // Y, one for each code, of at most most_workers().
  virtual std::vector<std::uint16_t> sum(std::span<const std::uint8_t> codes, Collective& network) const = 0;

  // Of so many codes.
  virtual ExpectedTraffic traffic(std::int64_t codes, int world_size) const = 0;

  virtual bool sums_of_messages_are_messages() const = 0;

  // For its integers.
  virtual int most_workers() const = 0;
};

// Codes of 2, 4 or 8 bits to the worker that owns their shard, which adds their levels up, and the sums back
// in 8 bits where they fit and in 16 else.
std::unique_ptr<ThcExchange> make_sharded_thc_exchange(const ThcTable& table);

// An all-reduce of levels less half the grid, as int8.
std::unique_ptr<ThcExchange> make_all_reduce_thc_exchange(const ThcTable& table);

}  // namespace thinpipe::trainer
