// DeepReduce's messages: places and values coded apart, each in its own way.
//
//   header as in sparse_code.hh   u8: 1 where all values are finite   places   their order   values
//
// The order is that of a curve's values among ascending places, ⌈log2 r⌉ bits each; places that keep the
// order in which they are written are written in the curve's, and other values need none. Where a value is
// not finite none is sent, and the whole stands for NaN. A bucket of at most 1000 entries is sent plainly,
// its indices 4 bytes each, as in the reference code.
#pragma once

#include "trainer/synchronisers/sparse/sparse_code.hh"

namespace thinpipe::trainer {

struct DeepReduceFormat {
  std::string places = "plain";        // place_code.hh
  std::string values = "f32";          // value_code.hh
  double false_positive_rate = 0.001;  // of a Bloom filter
  std::uint64_t seed = 0;
};

std::unique_ptr<SparseCode> make_deepreduce_code(const DeepReduceFormat& format);

}  // namespace thinpipe::trainer
