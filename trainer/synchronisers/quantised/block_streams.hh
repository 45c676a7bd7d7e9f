// OmniReduce's protocol: a bucket as blocks of consecutive entries, of which only those that some worker has
// a non-zero entry in are sent to an aggregator and come back as sums. Two state machines, without a network.
//
// Block b lies in column b mod (streams·width). A column's blocks are summed one after the other; each
// message of a worker says which block of the column it will have next, so that the aggregator asks for the
// next one that anybody has, and whoever has nothing there stays silent. The columns of a stream travel
// together: one message carries up to `width` of them.
//
//   u32 stream, its highest bit set in a result; u32 entries
//   entries times: u32 column within the stream; u32 the block to come, or no_block
//   entries times: float32 [block_size], the last block filled up with zeros
//
// Fei et al., Efficient Sparse Collective Communication and its application to Accelerate Distributed Deep
// Learning (SIGCOMM 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/tensors.hh"

namespace thinpipe::trainer {

inline constexpr std::uint32_t no_block = 0xFFFFFFFF;

struct BlockStreams {
  std::int64_t entries = 0;
  std::int64_t block_size = 0;
  std::int64_t streams = 0;
  std::int64_t width = 0;  // columns of a stream

  std::int64_t blocks() const { return (entries + block_size - 1) / block_size; }
  std::int64_t columns() const { return streams * width; }
  // Messages hold at most so much.
  std::int64_t largest_message_bytes() const { return 8 + width * (8 + 4 * block_size); }
};

// `streams` of at most `width` columns each, so that every stream gets its share of a small bucket too.
BlockStreams lay_out_block_streams(std::int64_t entries, std::int64_t block_size, std::int64_t streams,
                                   std::int64_t width);

bool is_block_result(const torch::Tensor& message);
std::int64_t stream_of(const torch::Tensor& message);

// One worker's side of all streams. `values` are its entries, and in the end everybody's sums.
class BlockWorker {
 public:
  BlockWorker(const BlockStreams& layout, std::span<float> values);

  // The first block of each of the stream's columns, whatever it holds. Nothing: the stream has no blocks.
  std::optional<torch::Tensor> begin(std::int64_t stream);

  // Takes sums in; returns what the aggregator asked for of what this worker has.
  std::optional<torch::Tensor> take_result(const torch::Tensor& message);

  bool is_done() const { return open_columns_ == 0; }

 private:
  std::uint32_t next_non_zero(std::uint32_t block) const;
  torch::Tensor write(std::int64_t stream, const std::vector<std::uint32_t>& columns);

  BlockStreams layout_;
  std::span<float> values_;
  std::vector<float> own_;               // the entries as they were
  std::vector<std::uint32_t> asked_;     // per column: the block whose sum comes next
  std::vector<std::uint32_t> own_next_;  // per column: the next block this worker has to send
  std::int64_t open_columns_ = 0;
};

// The aggregator of one stream.
class BlockAggregator {
 public:
  BlockAggregator(const BlockStreams& layout, std::int64_t stream, int workers);

  // A worker's message. Where it completes the round, the sums for all workers. Sums add ranks ascending,
  // whatever order messages come in, so that they are the same again.
  std::optional<torch::Tensor> take(int from, const torch::Tensor& message);

  bool is_done() const { return awaited_ == 0; }

 private:
  torch::Tensor finish_round();

  BlockStreams layout_;
  std::int64_t stream_;
  int workers_;
  std::vector<std::uint32_t> asked_;  // per column of the stream: the block of this round
  // Per worker and column, what it will have next: at most the block of this round until its message is in.
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<torch::Tensor> received_;  // per worker, of this round
  int awaited_ = 0;                      // messages to come in this round
};

}  // namespace thinpipe::trainer
