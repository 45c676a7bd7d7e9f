// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/random_block_exchange.hh"

#include <limits>

#include "trainer/synchronisers/sparse/kept_count.hh"

namespace thinpipe::trainer {
namespace {

std::int64_t kept_of(const Bucket& bucket, double ratio) {
  std::int64_t count = 0;
  for (const Slice& slice : bucket.slices) count += kept_count(ratio, slice.size);
  return count;
}

// Calls visit(entries of dense, entries of packed) for each block.
void for_each_block(const std::vector<EntryRange>& blocks, const torch::Tensor& dense,
                    const torch::Tensor& packed, auto visit) {
  std::int64_t place = 0;
  for (const EntryRange& block : blocks) {
    visit(dense.narrow(0, block.begin, block.size), packed.narrow(0, place, block.size));
    place += block.size;
  }
}

}  // namespace

std::vector<EntryRange> RandomBlockExchange::choose(const Bucket& bucket, double ratio) const {
  std::vector<EntryRange> blocks;
  for (const Slice& slice : bucket.slices) {
    if (slice.size == 0) continue;
    const RandomStream stream{
        .seed = seed_, .step = step_, .bucket = static_cast<std::uint32_t>(slice.parameter)};
    for (const EntryRange& range : random_block(stream, slice.size, kept_count(ratio, slice.size)))
      blocks.push_back({.begin = slice.offset + range.begin, .size = range.size});
  }
  return blocks;
}

RandomBlockExchange::Taken RandomBlockExchange::take(Bucket& bucket, double ratio) const {
  Taken taken{.blocks = choose(bucket, ratio), .values = torch::empty({kept_of(bucket, ratio) + 1})};
  const bool finite = bucket.gradient.isfinite().all().item<bool>();
  taken.values[-1] = finite ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  for_each_block(taken.blocks, bucket.gradient, taken.values,
                 [](const torch::Tensor& entries, const torch::Tensor& values) {
                   values.copy_(entries);
                   entries.zero_();
                 });
  return taken;
}

void RandomBlockExchange::average(Taken taken, Bucket& bucket, Collective& network) {
  taken.values.div_(network.world_size());
  network.all_reduce(taken.values, Reduction::sum);
  bucket.gradient.zero_();
  for_each_block(taken.blocks, bucket.gradient, taken.values,
                 [](const torch::Tensor& entries, const torch::Tensor& values) { entries.copy_(values); });
  bucket.gradient[0].add_(taken.values[-1]);  // 0, or NaN
}

ExpectedTraffic RandomBlockExchange::traffic(const Bucket& bucket, double ratio, int world_size) {
  return bucket.size == 0 ? ExpectedTraffic{}
                          : all_reduce_traffic(4 * (kept_of(bucket, ratio) + 1), world_size);
}

}  // namespace thinpipe::trainer
