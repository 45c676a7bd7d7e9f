// Who sends what to whom in SparDL's Spar-Reduce-Scatter: ⌈log2 P⌉ rounds, in which each of P workers hands
// on every block but its own once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace thinpipe::trainer {

// Worker r sends blocks r + distance to r + distance + blocks - 1 to worker r + distance, and receives blocks
// r to r + blocks - 1 from worker r - distance, all modulo P.
struct SparRound {
  int distance = 0;
  int blocks = 0;
};

// After a round of distance d each worker has d blocks left, its own among them.
inline std::vector<SparRound> spar_rounds(int workers) {
  std::vector<SparRound> rounds;
  const auto farthest = static_cast<int>(std::bit_floor(static_cast<unsigned>(workers - 1)));
  for (int distance = farthest; distance > 0; distance /= 2) {
    rounds.push_back({.distance = distance, .blocks = std::min(distance, workers - distance)});
  }
  return rounds;
}

}  // namespace thinpipe::trainer
