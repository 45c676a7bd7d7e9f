// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/entries/push_pull.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/sparse/nonzero_blocks.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct OmniReduceBulkOptions {
  std::int64_t block_size = 256;

  void visit(auto& field) {
    field("block_size", block_size,
          Rule{.effect = "entries per block; blocks of zeros are not sent", .at_least = 1});
  }
};

// Lossless. Block b of the bucket belongs to worker b mod N:
//   push:  to each owner a bitmap of those of its blocks that are not all zero here, and these blocks
//   owner: m = (1/N)·Σ_w g_w over its blocks, ranks ascending
//   pull:  m in the same way
// Fei et al., OmniReduce (SIGCOMM 2021), by collectives. `omnireduce` streams blocks and looks ahead to the
// next one that any worker has; here all are sent at once, without headers and without overlap. Blocks that
// cancel in the sum are not returned. The last block is not padded. The published code treats a block with a
// NaN as zero; here it is sent. The published code's lossy threshold above zero is not implemented.
// No state.
// Payload 4V + 4U + ⌈B/8⌉ + ⌈B/8N⌉ + 4N + 4 bytes for B blocks, and up to N more for whole bytes: V values
// are in blocks that are not zero on this worker, U in the sums that it owns.
class OmniReduceBulk : public Synchroniser {
 public:
  OmniReduceBulk(const OmniReduceBulkOptions& options, const SynchroniserContext& context)
      : block_size_(options.block_size), kept_(context.kept) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::exact, .traffic_depends_on_data = true};
  }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { kept_.adopt(kept); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int world_size = network.world_size();
    const std::span<float> values = floats(bucket.gradient);
    const std::int64_t block_size = block_size_for(bucket.size);
    Messages pushed;
    std::vector<float> sums;
    for (int owner = 0; owner < world_size; ++owner) {
      const std::vector<float> part = part_of(values, owner, world_size);
      pushed.push_back(message_of(write_nonzero_blocks(part, block_size)));
      if (owner == network.rank()) sums.resize(part.size());
    }
    for (const torch::Tensor& message : exchange_any(pushed, network)) {
      add_nonzero_blocks(elements<std::uint8_t>(message), block_size, sums);
    }
    for (float& sum : sums) sum /= static_cast<float>(world_size);

    const Messages pulled = gather_any(message_of(write_nonzero_blocks(sums, block_size)), network);
    for (int owner = 0; owner < world_size; ++owner) {
      std::vector<float> part(static_cast<std::size_t>(part_size(bucket.size, owner, world_size)));
      add_nonzero_blocks(elements<std::uint8_t>(pulled[owner]), block_size, part);
      auto from = part.begin();
      for_each_block(bucket.size, owner, world_size, [&](std::int64_t begin, std::int64_t size) {
        std::copy_n(from, size, values.begin() + begin);
        from += size;
      });
    }
  }

  // Upper bound: every entry that pruning kept is non-zero on every worker.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return push_pull_at_most(bytes_of_kept(bucket, world_size));
  }

  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return push_pull_mean(bytes_of_kept(bucket, world_size));
  }

 private:
  // Returns the block size for n entries. Longer blocks would have the same effect, but numbers could
  // overflow.
  std::int64_t block_size_for(std::int64_t n) const { return std::clamp<std::int64_t>(n, 1, block_size_); }

  // Calls block(begin, size) for each block of `owner`.
  void for_each_block(std::int64_t n, int owner, int world_size, const auto& block) const {
    const std::int64_t block_size = block_size_for(n);
    for (std::int64_t begin = owner * block_size; begin < n; begin += world_size * block_size) {
      block(begin, std::min(block_size, n - begin));
    }
  }

  std::int64_t part_size(std::int64_t n, int owner, int world_size) const {
    std::int64_t entries = 0;
    for_each_block(n, owner, world_size, [&](std::int64_t /*begin*/, std::int64_t size) { entries += size; });
    return entries;
  }

  // Returns the blocks of `owner`, concatenated.
  std::vector<float> part_of(std::span<const float> values, int owner, int world_size) const {
    std::vector<float> part;
    part.reserve(static_cast<std::size_t>(part_size(std::ssize(values), owner, world_size)));
    for_each_block(std::ssize(values), owner, world_size, [&](std::int64_t begin, std::int64_t size) {
      part.insert(part.end(), values.begin() + begin, values.begin() + begin + size);
    });
    return part;
  }

  PushPullBytes bytes_of_kept(const Bucket& bucket, int world_size) const {
    const std::int64_t block_size = block_size_for(bucket.size);
    const std::vector<bool> kept = kept_.kept_blocks(bucket, block_size);
    PushPullBytes bytes;
    for (int owner = 0; owner < world_size; ++owner) {
      std::int64_t values = 0;
      for_each_block(bucket.size, owner, world_size, [&](std::int64_t begin, std::int64_t size) {
        if (kept[static_cast<std::size_t>(begin / block_size)]) values += size;
      });
      bytes.pushed.push_back(
          nonzero_blocks_bytes(part_size(bucket.size, owner, world_size), block_size, values));
    }
    bytes.pulled = bytes.pushed;
    return bytes;
  }

  std::int64_t block_size_;
  KeptEntries kept_;
};

THINPIPE_REGISTER(Synchroniser){
    "omnireduce_bulk", "lossless: blocks that are not all zero, summed by the worker that owns the block",
    describe_options<OmniReduceBulkOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<OmniReduceBulk>(read_options<OmniReduceBulkOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
