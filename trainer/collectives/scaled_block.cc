// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/scaled_block.hh"

#include <algorithm>

#include "trainer/base/byte_codes.hh"

namespace thinpipe::trainer {
namespace {

ScaledBlock* blocks_in(const torch::Tensor& tensor) {
  return static_cast<ScaledBlock*>(tensor.data_ptr());
}

void encode(std::span<const float> values, ScaledBlock& block) {
  block.scale = largest_magnitude(values);
  round_to_bytes(values, block.scale, std::span(block.codes).first(values.size()));
}

void add(const ScaledBlock& block, std::span<float> values) {
  add_bytes(std::span(block.codes).first(values.size()), block.scale, values);
}

// Calls visit(part of `values`, number of its block) for each block.
template <class Value>
void for_each_block(std::span<Value> values, const auto& visit) {
  for (std::size_t begin = 0; begin < values.size(); begin += ScaledBlock::entries)
    visit(values.subspan(begin, std::min(ScaledBlock::entries, values.size() - begin)),
          begin / ScaledBlock::entries);
}

}  // namespace

torch::Tensor encode_scaled_blocks(std::span<const float> values) {
  torch::Tensor tensor = torch::zeros({scaled_block_bytes(std::ssize(values))}, torch::kByte);
  ScaledBlock* const blocks = blocks_in(tensor);
  for_each_block(values, [&](std::span<const float> part, std::size_t b) { encode(part, blocks[b]); });
  return tensor;
}

void add_scaled_blocks(const torch::Tensor& tensor, std::span<float> values) {
  const ScaledBlock* const blocks = blocks_in(tensor);
  for_each_block(values, [&](std::span<float> part, std::size_t b) { add(blocks[b], part); });
}

void sum_scaled_blocks(void* into, std::span<const void* const> parts, std::size_t count) {
  auto* const target = static_cast<ScaledBlock*>(into);
  for (std::size_t b = 0; b < count; ++b) {
    std::array<float, ScaledBlock::entries> sum = {};
    add(target[b], sum);
    for (const void* const part : parts) add(static_cast<const ScaledBlock*>(part)[b], sum);
    encode(sum, target[b]);
  }
}

}  // namespace thinpipe::trainer
