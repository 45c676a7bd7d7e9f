// The wire format of a sparse bucket: a header, the indices, the values, all little-endian.
//
//   u16 magic 0x7450   u8 method   u8 version 1   u32 bucket   u32 step   u32 n   u32 count     (20 bytes)
//   u32 index[count]   ascending, below n
//   f32 value[count]
#pragma once

#include <cstdint>
#include <span>

#include "trainer/torch.hh"

namespace thinpipe::trainer {

struct SparseHeader {
  std::uint8_t method = 0;  // tells methods apart on the wire
  std::uint32_t bucket = 0;
  std::uint32_t step = 0;
  std::uint32_t n = 0;      // elements of the bucket
  std::uint32_t count = 0;  // entries in this message

  bool operator==(const SparseHeader&) const = default;
};

constexpr std::int64_t kSparseHeaderBytes = 20;

constexpr std::int64_t sparse_message_bytes(std::int64_t count) {
  return kSparseHeaderBytes + 8 * count;
}

// Result: uint8 [sparse_message_bytes(count)]; the values are dense[indices].
torch::Tensor encode_sparse(const SparseHeader& header, std::span<const std::uint32_t> indices,
                            std::span<const float> dense);

// dense[index] += value for every entry. Throws CollectiveError when the header is not `expected` or an index
// is out of range: the workers have come apart.
void add_sparse(const torch::Tensor& message, const SparseHeader& expected, std::span<float> dense);

}  // namespace thinpipe::trainer
