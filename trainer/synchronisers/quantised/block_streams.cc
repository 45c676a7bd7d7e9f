// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/block_streams.hh"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint32_t result_bit = 0x80000000;

struct BlockEntry {
  std::uint32_t column;  // within the stream
  std::uint32_t next;
};

struct BlockMessageHead {
  std::uint32_t stream;
  std::uint32_t entries;
};

constexpr auto block_head_bytes = static_cast<std::int64_t>(sizeof(BlockMessageHead));
constexpr auto block_entry_bytes = static_cast<std::int64_t>(sizeof(BlockEntry));

BlockMessageHead head_of(const torch::Tensor& message) {
  BlockMessageHead head{};
  std::memcpy(&head, elements<std::uint8_t>(message).data(), sizeof head);
  return head;
}

// Reads a received message or writes one to send. A message is as long as its entries require, or longer if a
// PointToPoint delivers it in a buffer of the maximum size.
class BlockMessage {
 public:
  BlockMessage(torch::Tensor bytes, const BlockStreams& layout)
      : bytes_(std::move(bytes)), layout_(layout), head_(head_of(bytes_)) {
    if (head_.entries > layout.width || bytes_.numel() < bytes_for(head_.entries, layout)) {
      throw CollectiveError(fmt::format("omnireduce message of {} bytes claims {} blocks of a stream's {}",
                                        bytes_.numel(), head_.entries, layout.width));
    }
  }

  static BlockMessage begin(std::uint32_t stream, std::size_t entries, const BlockStreams& layout) {
    torch::Tensor bytes = torch::zeros({bytes_for(static_cast<std::int64_t>(entries), layout)}, torch::kByte);
    const BlockMessageHead head{stream, static_cast<std::uint32_t>(entries)};
    std::memcpy(elements<std::uint8_t>(bytes).data(), &head, sizeof head);
    return {std::move(bytes), layout};
  }

  const torch::Tensor& bytes() const { return bytes_; }
  std::uint32_t entries() const { return head_.entries; }

  BlockEntry entry(std::uint32_t i) const {
    BlockEntry entry{};
    std::memcpy(&entry, at(block_head_bytes + i * block_entry_bytes), sizeof entry);
    if (entry.column >= layout_.width) {
      throw CollectiveError(
          fmt::format("omnireduce message for column {} of a stream's {}", entry.column, layout_.width));
    }
    return entry;
  }
  void set_entry(std::uint32_t i, const BlockEntry& entry) {
    std::memcpy(at(block_head_bytes + i * block_entry_bytes), &entry, sizeof entry);
  }

  // The block's entries are aligned to four bytes, like its tensor's memory.
  std::span<float> block(std::uint32_t i) const {
    const std::int64_t begin =
        block_head_bytes + head_.entries * block_entry_bytes + 4 * layout_.block_size * i;
    return {reinterpret_cast<float*>(at(begin)), static_cast<std::size_t>(layout_.block_size)};
  }

 private:
  static std::int64_t bytes_for(std::int64_t entries, const BlockStreams& layout) {
    return block_head_bytes + entries * (block_entry_bytes + 4 * layout.block_size);
  }

  std::uint8_t* at(std::int64_t offset) const { return bytes_.data_ptr<std::uint8_t>() + offset; }

  torch::Tensor bytes_;
  BlockStreams layout_;
  BlockMessageHead head_;
};

}  // namespace

BlockStreams lay_out_block_streams(std::int64_t entries, std::int64_t block_size, std::int64_t streams,
                                   std::int64_t width) {
  BlockStreams layout{.entries = entries, .block_size = block_size, .streams = streams, .width = 1};
  const std::int64_t needed = (layout.blocks() + streams - 1) / streams;
  layout.width = std::clamp<std::int64_t>(needed, 1, width);
  return layout;
}

bool is_block_result(const torch::Tensor& message) {
  return (head_of(message).stream & result_bit) != 0;
}

std::int64_t stream_of(const torch::Tensor& message) {
  return head_of(message).stream & ~result_bit;
}

BlockWorker::BlockWorker(const BlockStreams& layout, std::span<float> values)
    : layout_(layout), values_(values), own_(values.begin(), values.end()) {
  std::ranges::fill(values_, 0.0F);
  for (std::int64_t column = 0; column < layout_.columns(); ++column) {
    const bool has_blocks = column < layout_.blocks();
    asked_.push_back(has_blocks ? static_cast<std::uint32_t>(column) : no_block);
    if (has_blocks) ++open_columns_;
  }
  own_next_ = asked_;
}

std::uint32_t BlockWorker::next_non_zero(std::uint32_t block) const {
  const std::int64_t size = layout_.block_size;
  for (std::int64_t b = block + layout_.columns(); b < layout_.blocks(); b += layout_.columns()) {
    const auto begin = own_.begin() + b * size;
    const auto end = own_.begin() + std::min((b + 1) * size, layout_.entries);
    // Not a comparison with a threshold: NaN must be sent.
    if (!std::all_of(begin, end, [](float x) { return x == 0; })) return static_cast<std::uint32_t>(b);
  }
  return no_block;
}

torch::Tensor BlockWorker::write(std::int64_t stream, const std::vector<std::uint32_t>& columns) {
  BlockMessage message = BlockMessage::begin(static_cast<std::uint32_t>(stream), columns.size(), layout_);
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    const std::int64_t column = stream * layout_.width + columns[i];
    std::uint32_t& next = own_next_[static_cast<std::size_t>(column)];
    const std::int64_t begin = next * layout_.block_size;
    const std::int64_t count = std::min(layout_.block_size, layout_.entries - begin);
    std::copy_n(own_.begin() + begin, count, message.block(i).begin());
    next = next_non_zero(next);
    message.set_entry(i, {columns[i], next});
  }
  return message.bytes();
}

std::optional<torch::Tensor> BlockWorker::begin(std::int64_t stream) {
  std::vector<std::uint32_t> columns;
  for (std::uint32_t column = 0; column < layout_.width; ++column) {
    if (own_next_[static_cast<std::size_t>(stream * layout_.width + column)] != no_block)
      columns.push_back(column);
  }
  if (columns.empty()) return std::nullopt;
  return write(stream, columns);
}

std::optional<torch::Tensor> BlockWorker::take_result(const torch::Tensor& bytes) {
  const BlockMessage message(bytes, layout_);
  const std::int64_t stream = stream_of(bytes);
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t i = 0; i < message.entries(); ++i) {
    const BlockEntry entry = message.entry(i);
    const auto column = static_cast<std::size_t>(stream * layout_.width + entry.column);
    const std::int64_t begin = asked_.at(column) * layout_.block_size;
    if (begin >= layout_.entries) throw CollectiveError("an omnireduce result for a column that has ended");
    const std::int64_t count = std::min(layout_.block_size, layout_.entries - begin);
    std::copy_n(message.block(i).begin(), count, values_.begin() + begin);
    asked_[column] = entry.next;
    if (entry.next == no_block) {
      --open_columns_;
    } else if (own_next_[column] == entry.next) {
      wanted.push_back(entry.column);
    }
  }
  if (wanted.empty()) return std::nullopt;
  return write(stream, wanted);
}

BlockAggregator::BlockAggregator(const BlockStreams& layout, std::int64_t stream, int workers)
    : layout_(layout), stream_(stream), workers_(workers), received_(static_cast<std::size_t>(workers)) {
  for (std::int64_t column = 0; column < layout.width; ++column) {
    const std::int64_t first = stream * layout.width + column;
    asked_.push_back(first < layout.blocks() ? static_cast<std::uint32_t>(first) : no_block);
  }
  next_.assign(static_cast<std::size_t>(workers), asked_);
  if (asked_.front() != no_block) awaited_ = workers;
}

std::optional<torch::Tensor> BlockAggregator::take(int from, const torch::Tensor& bytes) {
  const auto sender = static_cast<std::size_t>(from);
  const BlockMessage message(bytes, layout_);
  if (received_.at(sender).defined() || awaited_ == 0) {
    throw CollectiveError(
        fmt::format("rank {} sent twice in a round of omnireduce's stream {}", from, stream_));
  }
  for (std::uint32_t i = 0; i < message.entries(); ++i) {
    const BlockEntry entry = message.entry(i);
    next_[sender][entry.column] = entry.next;
  }
  received_[sender] = bytes;
  if (--awaited_ > 0) return std::nullopt;
  return finish_round();
}

torch::Tensor BlockAggregator::finish_round() {
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> place(asked_.size(), 0);  // of an open column among the open ones
  for (std::uint32_t column = 0; column < asked_.size(); ++column) {
    if (asked_[column] == no_block) continue;
    place[column] = static_cast<std::uint32_t>(open.size());
    open.push_back(column);
  }
  BlockMessage result =
      BlockMessage::begin(static_cast<std::uint32_t>(stream_) | result_bit, open.size(), layout_);
  for (const torch::Tensor& bytes : received_) {
    if (!bytes.defined()) continue;
    const BlockMessage message(bytes, layout_);
    for (std::uint32_t i = 0; i < message.entries(); ++i) {
      const std::span<float> sum = result.block(place[message.entry(i).column]);
      std::ranges::transform(sum, message.block(i), sum.begin(), std::plus());
    }
  }
  for (std::uint32_t i = 0; i < open.size(); ++i) {
    std::uint32_t next = no_block;
    for (const auto& of_worker : next_) next = std::min(next, of_worker[open[i]]);
    asked_[open[i]] = next;
    result.set_entry(i, {open[i], next});
  }
  for (std::size_t worker = 0; worker < received_.size(); ++worker) {
    received_[worker] = torch::Tensor();
    const bool sends = std::ranges::any_of(open, [&](std::uint32_t column) {
      return asked_[column] != no_block && next_[worker][column] == asked_[column];
    });
    if (sends) ++awaited_;
  }
  return result.bytes();
}

}  // namespace thinpipe::trainer
