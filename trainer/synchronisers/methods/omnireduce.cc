// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/quantised/block_streams.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct OmniReduceOptions {
  std::int64_t block_size = 256;
  std::int64_t blocks_per_message = 64;
  std::int64_t streams = 4;

  void visit(auto& field) {
    field("block_size", block_size,
          Rule{.effect = "entries per block; blocks of zeros are not sent", .at_least = 1});
    field("blocks_per_message", blocks_per_message,
          Rule{.effect = "maximum number of blocks per message", .at_least = 1});
    field("streams", streams,
          Rule{.effect = "messages in flight per aggregator; every worker is one", .at_least = 1});
  }
};

// OmniReduce: exact sums in which blocks that are zero on every worker are not sent, by the streaming
// protocol of block_streams.hh. Every worker is also an aggregator: worker s mod N sums stream s, and its own
// blocks stay in memory.
//   out = (1/N) Σ_w g_w, ranks ascending; the published code adds in the order of arrival
// Unstructured pruning hardly ever leaves a block of 256 all zero, and only whole blocks of zeros save
// traffic.
//
// State: none. A block and its index take 8 + 4·block_size bytes, and a message has 8 more. Each worker sends
// its non-zero blocks to their aggregators, and each aggregator sends the sums of the union to N-1 workers.
class OmniReduce : public Synchroniser {
 public:
  OmniReduce(const OmniReduceOptions& options, const SynchroniserContext& context)
      : options_(options), kept_(context.kept) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::exact, .traffic_depends_on_data = true};
  }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { kept_.adopt(kept); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const BlockStreams layout = layout_for(bucket, network.world_size());
    BlockWorker worker(layout, floats(bucket.gradient));
    std::vector<BlockAggregator> aggregators;  // of streams rank, rank + N, …
    for (std::int64_t s = network.rank(); s < layout.streams; s += network.world_size()) {
      aggregators.emplace_back(layout, s, network.world_size());
    }
    const auto aggregates = [&] {
      return std::ranges::any_of(aggregators, [](const BlockAggregator& each) { return !each.is_done(); });
    };
    const auto point_to_point = network.open_point_to_point(layout.largest_message_bytes());
    std::deque<ReceivedMessage> own;
    const auto send = [&](int to, const torch::Tensor& message) {
      to == network.rank() ? own.push_back({to, message}) : point_to_point->send(to, message);
    };
    const auto aggregator_of = [&](std::int64_t stream) {
      return static_cast<int>(stream % network.world_size());
    };
    for (std::int64_t s = 0; s < layout.streams; ++s) {
      if (const auto first = worker.begin(s)) send(aggregator_of(s), *first);
    }
    while (!worker.is_done() || aggregates()) {
      const ReceivedMessage received = next_message(own, *point_to_point);
      const std::int64_t stream = stream_of(received.message);
      const bool is_result = is_block_result(received.message);
      // Sums must come from the stream's aggregator, and only the aggregator receives blocks.
      if (stream >= layout.streams || aggregator_of(stream) != (is_result ? received.from : network.rank())) {
        throw CollectiveError(
            fmt::format("rank {} sent a message of omnireduce's stream {} that is not for rank {}",
                        received.from, stream, network.rank()));
      }
      if (is_result) {
        if (const auto blocks = worker.take_result(received.message)) send(aggregator_of(stream), *blocks);
      } else if (const auto sums = aggregators.at(static_cast<std::size_t>(stream / network.world_size()))
                                       .take(received.from, received.message)) {
        for (int to = 0; to < network.world_size(); ++to) send(to, *sums);
      }
    }
    point_to_point->close();
    bucket.gradient.div_(network.world_size());
  }

  // Upper bound, for the worker that sends the most: no block is zero, and each goes in a message of its own.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    if (world_size == 1) return {};
    const BlockStreams layout = layout_for(bucket, world_size);
    const std::int64_t sent_blocks =
        layout.blocks() + (world_size - 1) * blocks_of_first_aggregator(layout, world_size);
    const auto bytes = static_cast<double>(sent_blocks * (16 + 4 * layout.block_size));
    return {.payload_bytes = bytes, .sent_bytes = bytes, .pairwise_bytes = bytes, .delivered_bytes = bytes};
  }

  // Every entry that pruning kept is non-zero on every worker, and messages are full.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    const BlockStreams layout = layout_for(bucket, world_size);
    const auto blocks = static_cast<double>(blocks_to_send(bucket, layout));
    const double message_share = 8.0 / static_cast<double>(layout.width);
    const double bytes = 2 * blocks * (8 + message_share + 4 * static_cast<double>(layout.block_size)) *
                         (world_size - 1) / world_size;
    return {.payload_bytes = bytes, .sent_bytes = bytes, .pairwise_bytes = bytes, .delivered_bytes = bytes};
  }

 private:
  // Blocks longer than the bucket, and streams beyond its blocks, would only be padding.
  BlockStreams layout_for(const Bucket& bucket, int world_size) const {
    const std::int64_t block_size = std::clamp<std::int64_t>(bucket.size, 1, options_.block_size);
    const std::int64_t blocks = (bucket.size + block_size - 1) / block_size;
    const std::int64_t blocks_each = (blocks + world_size - 1) / world_size;
    const std::int64_t streams = std::clamp<std::int64_t>(blocks_each, 1, options_.streams);
    return lay_out_block_streams(bucket.size, block_size, streams * world_size, options_.blocks_per_message);
  }

  // Returns the number of blocks with a kept entry, and of those that are the first of their column.
  std::int64_t blocks_to_send(const Bucket& bucket, const BlockStreams& layout) const {
    const std::vector<bool> kept = kept_.kept_blocks(bucket, layout.block_size);
    const std::int64_t first = std::min(layout.columns(), layout.blocks());
    return first + std::count(kept.begin() + first, kept.end(), true);
  }

  static ReceivedMessage next_message(std::deque<ReceivedMessage>& own, PointToPoint& point_to_point) {
    if (own.empty()) return point_to_point.receive();
    ReceivedMessage received = std::move(own.front());
    own.pop_front();
    return received;
  }

  // Returns the largest number of blocks that any aggregator has.
  static std::int64_t blocks_of_first_aggregator(const BlockStreams& layout, int world_size) {
    const std::int64_t rounds = layout.blocks() / layout.columns();
    const std::int64_t rest = layout.blocks() % layout.columns();
    std::int64_t blocks = 0;
    for (std::int64_t s = 0; s < layout.streams; s += world_size) {
      blocks += rounds * layout.width + std::clamp<std::int64_t>(rest - s * layout.width, 0, layout.width);
    }
    return blocks;
  }

  OmniReduceOptions options_;
  KeptEntries kept_;  // for plans; the exchange looks at values only
};

THINPIPE_REGISTER(Synchroniser){
    "omnireduce", "exact sums without the blocks that are zero on every worker, streamed between the workers",
    describe_options<OmniReduceOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<OmniReduce>(read_options<OmniReduceOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
