// SPDX-License-Identifier: Apache-2.0
// DeepReduce's messages, in which indices and values have separate codes.
//
//   header as in sparse_code.hh   u8: 1 if all values are finite   indices   their order   values
//
// The order gives the position of each value of the sorted curve among the ascending indices, in ⌈log2 r⌉
// bits each. It is absent if the values are not sorted, or if the index code keeps the order in which indices
// are written: they are then written in the curve's order. If a value is not finite, none is sent and the
// whole message decodes to NaN. A bucket of at most 1000 entries is sent uncompressed, with 4 bytes per
// index, as in the reference code.
#pragma once

#include "trainer/synchronisers/sparse/sparse_code.hh"

namespace thinpipe::trainer {

struct DeepReduceFormat {
  std::string indices = "plain";       // index code (deepreduce_index_code.hh)
  std::string values = "f32";          // value_code.hh
  double false_positive_rate = 0.001;  // of a Bloom filter
  std::uint64_t seed = 0;
};

std::unique_ptr<SparseCode> make_deepreduce_code(const DeepReduceFormat& format);

}  // namespace thinpipe::trainer
