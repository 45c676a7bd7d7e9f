// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/sparse_block.hh"

#include <cstring>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint32_t bitmap_flag = std::uint32_t{1} << 31;

struct Head {
  std::size_t entries = 0;
  bool has_bitmap = false;
};

std::size_t bitmap_bytes(std::size_t elements) {
  return (elements + 7) / 8;
}

bool bitmap_is_shorter(std::size_t elements, std::size_t entries) {
  return bitmap_bytes(elements) < entries * sizeof(std::uint16_t);
}

Head read_head(std::size_t elements, std::span<const std::byte> message) {
  std::uint32_t word = 0;
  std::memcpy(&word, message.data(), sizeof word);
  const Head head{.entries = word & ~bitmap_flag, .has_bitmap = (word & bitmap_flag) != 0};
  if (head.entries > elements || head.has_bitmap != bitmap_is_shorter(elements, head.entries)) {
    throw Error(fmt::format("no block of {} elements begins with {:#x}", elements, word));
  }
  return head;
}

std::size_t index_bytes(std::size_t elements, const Head& head) {
  return head.has_bitmap ? bitmap_bytes(elements) : head.entries * sizeof(std::uint16_t);
}

// Writes to existing memory.
class Pen {
 public:
  explicit Pen(std::byte* to) : to_(to) {}

  void write(std::span<const std::byte> bytes) {
    std::memcpy(to_, bytes.data(), bytes.size());
    to_ += bytes.size();
  }
  void write(const auto& value) { write(std::as_bytes(std::span(&value, 1))); }

 private:
  std::byte* to_;
};

}  // namespace

void unite(WritableBlockBits bits, BlockBits others) {
  std::ranges::transform(bits, others, bits.begin(), std::bit_or());
}

std::size_t entry_count(BlockBits bits) {
  return std::transform_reduce(bits.begin(), bits.end(), std::size_t{0}, std::plus(), [](std::uint64_t word) {
    return static_cast<std::size_t>(std::popcount(word));
  });
}

std::size_t sparse_block_bytes(std::size_t elements, std::size_t entries) {
  const Head head{.entries = entries, .has_bitmap = bitmap_is_shorter(elements, entries)};
  return sparse_block_head_bytes + index_bytes(elements, head) + entries * sizeof(float);
}

std::size_t sparse_block_bytes(std::size_t elements, std::span<const std::byte> message) {
  return sparse_block_bytes(elements, read_head(elements, message).entries);
}

std::size_t sparse_bytes(Blocks blocks, std::span<const std::uint32_t> indices) {
  std::size_t bytes = 0;
  auto begin = indices.begin();
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const std::size_t elements = blocks.elements_of(b);
    const auto end = std::lower_bound(begin, indices.end(), blocks.begin_of(b) + elements);
    bytes += sparse_block_bytes(elements, static_cast<std::size_t>(end - begin));
    begin = end;
  }
  return bytes;
}

void append_sparse_block(BlockBits bits, std::span<const float> values, std::vector<std::byte>& out) {
  const std::size_t entries = entry_count(bits);
  const Head head{.entries = entries, .has_bitmap = bitmap_is_shorter(values.size(), entries)};
  const std::size_t begin = out.size();
  out.resize(begin + sparse_block_bytes(values.size(), entries));
  Pen pen(out.data() + begin);
  pen.write(static_cast<std::uint32_t>(entries) | (head.has_bitmap ? bitmap_flag : 0));
  if (head.has_bitmap) {
    pen.write(std::as_bytes(bits).first(bitmap_bytes(values.size())));
  } else {
    for_each_entry(bits, [&](std::size_t index) { pen.write(static_cast<std::uint16_t>(index)); });
  }
  for_each_entry(bits, [&](std::size_t index) { pen.write(values[index]); });
}

std::span<const std::byte> read_sparse_block(std::span<const std::byte> message, std::size_t elements,
                                             WritableBlockBits bits) {
  const Head head = read_head(elements, message);
  const auto indices = message.subspan(sparse_block_head_bytes, index_bytes(elements, head));
  std::ranges::fill(bits, 0);
  if (head.has_bitmap) {
    std::memcpy(bits.data(), indices.data(), indices.size());
    const bool leaves_the_block =
        bitmap_bytes(elements) * 8 > elements && bits[elements / 64] >> elements % 64 != 0;
    if (leaves_the_block || entry_count(bits) != head.entries) {
      throw Error("a block's bitmap does not have the number of entries that its head gives");
    }
  } else {
    int last = -1;
    for (std::size_t i = 0; i < head.entries; ++i) {
      std::uint16_t index = 0;
      std::memcpy(&index, indices.data() + i * sizeof index, sizeof index);
      if (index <= last || index >= elements) {
        throw Error(fmt::format("a block of {} elements has index {} after {}", elements, index, last));
      }
      last = index;
      bits[index / 64] |= std::uint64_t{1} << index % 64;
    }
  }
  return message.subspan(sparse_block_head_bytes + indices.size());
}

}  // namespace thinpipe::trainer
