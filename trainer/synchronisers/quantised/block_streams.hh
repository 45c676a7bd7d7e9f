// SPDX-License-Identifier: Apache-2.0
// OmniReduce's protocol. A bucket is cut into blocks of consecutive entries. Only blocks in which some worker
// has a non-zero entry are sent to an aggregator and returned as sums. The protocol is two state machines,
// without a network.
//
// Block b is in column b mod (streams·width). The blocks of a column are summed one after the other. Each
// message of a worker gives its next block in the column, so the aggregator can ask for the next block that
// any worker has; workers without it stay silent. The columns of a stream share messages: each carries up to
// `width` of them.
//
//   u32 stream, its highest bit set in a result; u32 entries
//   entries times: u32 column within the stream; u32 the next block, or no_block
//   entries times: float32 [block_size], the last block padded with zeros
//
// Fei et al., Efficient Sparse Collective Communication and its application to Accelerate Distributed Deep
// Learning (SIGCOMM 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

inline constexpr std::uint32_t no_block = 0xFFFFFFFF;

struct BlockStreams {
  std::int64_t entries = 0;
  std::int64_t block_size = 0;
  std::int64_t streams = 0;
  std::int64_t width = 0;  // columns of a stream

  std::int64_t blocks() const { return (entries + block_size - 1) / block_size; }
  std::int64_t columns() const { return streams * width; }
  // The maximum size of a message.
  std::int64_t largest_message_bytes() const { return 8 + width * (8 + 4 * block_size); }
};

// Returns `streams` streams of at most `width` columns each; narrower ones in a small bucket, so that every
// stream gets a share.
BlockStreams lay_out_block_streams(std::int64_t entries, std::int64_t block_size, std::int64_t streams,
                                   std::int64_t width);

bool is_block_result(const torch::Tensor& message);
std::int64_t stream_of(const torch::Tensor& message);

// One worker's side of all streams. `values` are its entries and, at the end, the sums over all workers.
class BlockWorker {
 public:
  BlockWorker(const BlockStreams& layout, std::span<float> values);

  // Returns the message with the first block of each of the stream's columns, zero or not; nullopt if the
  // stream has no blocks.
  std::optional<torch::Tensor> begin(std::int64_t stream);

  // Takes a message of sums. Returns this worker's blocks among those that the aggregator asks for; nullopt
  // if it has none.
  std::optional<torch::Tensor> take_result(const torch::Tensor& message);

  bool is_done() const { return open_columns_ == 0; }

 private:
  std::uint32_t next_non_zero(std::uint32_t block) const;
  torch::Tensor write(std::int64_t stream, const std::vector<std::uint32_t>& columns);

  BlockStreams layout_;
  std::span<float> values_;
  std::vector<float> own_;               // the original entries
  std::vector<std::uint32_t> asked_;     // per column: the block whose sum comes next
  std::vector<std::uint32_t> own_next_;  // per column: the next block that this worker must send
  std::int64_t open_columns_ = 0;
};

// The aggregator of one stream.
class BlockAggregator {
 public:
  BlockAggregator(const BlockStreams& layout, std::int64_t stream, int workers);

  // Takes a worker's message. Returns the sums for all workers if it completes the round, otherwise nullopt.
  // Adds in ascending order of rank, so the sums do not depend on the order of messages.
  std::optional<torch::Tensor> take(int from, const torch::Tensor& message);

  bool is_done() const { return awaited_ == 0; }

 private:
  torch::Tensor finish_round();

  BlockStreams layout_;
  std::int64_t stream_;
  int workers_;
  std::vector<std::uint32_t> asked_;  // per column of the stream: the block of this round
  // Per worker and column: its next block. Until its message of this round arrives, at most this round's
  // block.
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<torch::Tensor> received_;  // per worker, of this round
  int awaited_ = 0;                      // messages missing in this round
};

}  // namespace thinpipe::trainer
