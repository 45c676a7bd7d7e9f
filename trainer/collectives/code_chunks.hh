// SPDX-License-Identifier: Apache-2.0
// How codes to be summed are produced and their sums consumed, chunk by chunk. A backend can have some chunks
// in flight while others are produced or consumed.
#pragma once

#include <cstddef>
#include <functional>

namespace thinpipe::trainer {

// Functions that the thread calling the sum runs on consecutive chunks, from the first code to the last. A
// chunk is consumed after it was produced.
struct CodeChunks {
  using Function = std::function<void(std::size_t begin, std::size_t end)>;

  // Chunks to be produced begin at multiples of this many codes.
  static constexpr std::size_t granule = 64;

  // Writes the codes [begin, end). If empty, all codes are already written.
  Function produce = {};
  // Consumes the sums [begin, end) in place of the codes. May be empty.
  Function consume = {};
};

}  // namespace thinpipe::trainer
