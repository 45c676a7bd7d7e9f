// How codes to be summed are produced and their sums consumed, piece by piece. A backend can have some pieces
// in flight while others are made or taken.
#pragma once

#include <cstddef>
#include <functional>

namespace thinpipe::trainer {

// Functions that the thread calling the sum runs on consecutive pieces, from the first code to the last. A
// piece is taken after it was made.
struct CodePieces {
  using Piece = std::function<void(std::size_t begin, std::size_t end)>;

  // Pieces to be made begin at multiples of this many codes.
  static constexpr std::size_t granule = 64;

  // Writes the codes [begin, end). If empty, all codes are already written.
  Piece make = {};
  // Consumes the sums [begin, end) in place of the codes. May be empty.
  Piece take = {};
};

}  // namespace thinpipe::trainer
