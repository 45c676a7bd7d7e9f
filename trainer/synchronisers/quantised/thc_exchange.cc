// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/thc_exchange.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/quantised/code_exchange.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

// codes.size(): a whole number of bytes' codes.
template <unsigned bits>
void pack_thc_codes(std::span<const std::uint8_t> codes, std::span<std::uint8_t> packed) {
  constexpr std::size_t per_byte = 8 / bits;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < per_byte; ++j)
      byte |= static_cast<unsigned>(codes[i * per_byte + j]) << (j * bits);
    packed[i] = static_cast<std::uint8_t>(byte);
  }
}

// Adds T[code] to each sum.
template <unsigned bits>
void add_thc_levels(std::span<const std::uint8_t> packed, std::span<const std::uint8_t> levels,
                    std::span<std::uint16_t> sums) {
  constexpr std::size_t per_byte = 8 / bits;
  constexpr unsigned mask = (1U << bits) - 1;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const unsigned byte = packed[i];
    for (std::size_t j = 0; j < per_byte; ++j) {
      std::uint16_t& sum = sums[i * per_byte + j];
      sum = static_cast<std::uint16_t>(sum + levels[(byte >> (j * bits)) & mask]);
    }
  }
}

class ShardedThc : public ThcExchange {
 public:
  explicit ShardedThc(const ThcTable& table) : table_(table) {}

  std::vector<std::uint16_t> sum(std::span<const std::uint8_t> codes, Collective& network) const override {
    const int world_size = network.world_size();
    const std::int64_t shard = shard_bytes(std::ssize(codes), world_size);
    std::vector<std::uint16_t> sums(static_cast<std::size_t>(shard * codes_per_byte()));
    const torch::Tensor received = scatter(codes, shard, network);
    for (int rank = 0; rank < world_size; ++rank) add(received.narrow(0, rank * shard, shard), sums);
    std::vector<std::uint16_t> all =
        fits_a_byte(world_size) ? gather<std::uint8_t>(sums, network) : gather<std::uint16_t>(sums, network);
    all.resize(codes.size());
    return all;
  }

  ExpectedTraffic traffic(std::int64_t codes, int world_size) const override {
    const std::int64_t shard = shard_bytes(codes, world_size);
    const std::int64_t sum_bytes = fits_a_byte(world_size) ? 1 : 2;
    return all_to_all_traffic(shard * world_size, world_size) +
           all_gather_traffic(shard * codes_per_byte() * sum_bytes, world_size);
  }

  bool all_reduce_compatible() const override { return false; }

  int max_workers() const override {
    return std::numeric_limits<std::uint16_t>::max() / table_.granularity();
  }

 private:
  std::int64_t codes_per_byte() const { return 8 / table_.bits(); }

  bool fits_a_byte(int world_size) const {
    return world_size * table_.granularity() <= std::numeric_limits<std::uint8_t>::max();
  }

  // Returns the bytes of a worker's codes for one owner, the same for all owners.
  std::int64_t shard_bytes(std::int64_t codes, int world_size) const {
    const std::int64_t codes_of_all = world_size * codes_per_byte();
    return (codes + codes_of_all - 1) / codes_of_all;
  }

  torch::Tensor scatter(std::span<const std::uint8_t> codes, std::int64_t shard, Collective& network) const {
    const torch::Tensor packed = torch::empty({shard * network.world_size()}, torch::kByte);
    std::vector<std::uint8_t> padded(codes.begin(), codes.end());
    padded.resize(static_cast<std::size_t>(packed.numel() * codes_per_byte()));
    const auto bytes = elements<std::uint8_t>(packed);
    if (table_.bits() == 2) pack_thc_codes<2>(padded, bytes);
    if (table_.bits() == 4) pack_thc_codes<4>(padded, bytes);
    if (table_.bits() == 8) pack_thc_codes<8>(padded, bytes);
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), shard);
    return network.all_to_all_v(packed, counts, counts);
  }

  void add(const torch::Tensor& packed, std::span<std::uint16_t> sums) const {
    const auto bytes = elements<std::uint8_t>(packed);
    if (table_.bits() == 2) add_thc_levels<2>(bytes, table_.levels(), sums);
    if (table_.bits() == 4) add_thc_levels<4>(bytes, table_.levels(), sums);
    if (table_.bits() == 8) add_thc_levels<8>(bytes, table_.levels(), sums);
  }

  template <class OnTheWire>
  static std::vector<std::uint16_t> gather(std::span<const std::uint16_t> sums, Collective& network) {
    std::vector<OnTheWire> own(sums.size());
    std::ranges::transform(sums, own.begin(), [](std::uint16_t sum) { return static_cast<OnTheWire>(sum); });
    const torch::Tensor message =
        torch::empty({std::ssize(own) * std::int64_t{sizeof(OnTheWire)}}, torch::kByte);
    if (!own.empty()) std::memcpy(message.data_ptr(), own.data(), message.nbytes());
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), message.numel());
    const torch::Tensor gathered = network.all_gather_v(message, counts);
    std::vector<OnTheWire> all(gathered.nbytes() / sizeof(OnTheWire));
    if (!all.empty()) std::memcpy(all.data(), gathered.data_ptr(), gathered.nbytes());
    return {all.begin(), all.end()};
  }

  ThcTable table_;
};

class AllReduceThc : public ThcExchange {
 public:
  explicit AllReduceThc(const ThcTable& table) : table_(table) {}

  std::vector<std::uint16_t> sum(std::span<const std::uint8_t> codes, Collective& network) const override {
    const int world_size = network.world_size();
    const int offset = level_offset();
    const torch::Tensor levels = torch::empty({std::ssize(codes)}, torch::kChar);
    const auto own = elements<std::int8_t>(levels);
    std::vector<std::uint16_t> sums(codes.size());
    const auto produce = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        own[i] = static_cast<std::int8_t>(table_.levels()[codes[i]] - offset);
    };
    const auto consume = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        sums[i] = static_cast<std::uint16_t>(own[i] + world_size * offset);
    };
    network.all_reduce_quantised(levels, largest_level(), {.produce = produce, .consume = consume});
    return sums;
  }

  ExpectedTraffic traffic(std::int64_t codes, int world_size) const override {
    return all_reduce_quantised_traffic(codes, largest_level(), world_size);
  }

  bool all_reduce_compatible() const override { return true; }

  int max_workers() const override { return max_workers_of_code_sums(largest_level()); }

 private:
  // Levels are centred to keep sums small.
  int level_offset() const { return table_.granularity() / 2; }
  int largest_level() const { return table_.granularity() - level_offset(); }

  ThcTable table_;
};

}  // namespace

std::unique_ptr<ThcExchange> make_sharded_thc_exchange(const ThcTable& table) {
  return std::make_unique<ShardedThc>(table);
}

std::unique_ptr<ThcExchange> make_all_reduce_thc_exchange(const ThcTable& table) {
  return std::make_unique<AllReduceThc>(table);
}

}  // namespace thinpipe::trainer
