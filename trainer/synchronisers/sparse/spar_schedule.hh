// The communication schedule of SparDL's Spar-Reduce-Scatter: in ⌈log2 P⌉ rounds each of P workers passes on
// every block but its own once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace thinpipe::trainer {

// Worker r sends blocks r + distance to r + distance + blocks - 1 to worker r + distance. It receives blocks
// r to r + blocks - 1 from worker r - distance. All are modulo P.
struct SparRound {
  int distance = 0;
  int blocks = 0;
};

// After a round of distance d each worker has d blocks left, including its own.
inline std::vector<SparRound> spar_rounds(int workers) {
  std::vector<SparRound> rounds;
  const auto farthest = static_cast<int>(std::bit_floor(static_cast<unsigned>(workers - 1)));
  for (int distance = farthest; distance > 0; distance /= 2) {
    rounds.push_back({.distance = distance, .blocks = std::min(distance, workers - distance)});
  }
  return rounds;
}

}  // namespace thinpipe::trainer
