// How the codes that are to be summed come about, and what becomes of their sums, for a backend that has
// pieces of them under way while others are made or taken.
#pragma once

#include <cstddef>
#include <functional>

namespace thinpipe::trainer {

// Called by the thread that asks for the sum, each for pieces that follow one another from the first code to
// the last. A piece is taken after it was made.
struct CodePieces {
  using Piece = std::function<void(std::size_t begin, std::size_t end)>;

  // Where pieces to be made begin: at multiples of this many codes.
  static constexpr std::size_t granule = 64;

  Piece make = {};  // writes the codes [begin, end); empty: all are there
  Piece take = {};  // the codes [begin, end) have become sums; empty: nobody need know
};

}  // namespace thinpipe::trainer
