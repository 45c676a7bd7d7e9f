// SPDX-License-Identifier: Apache-2.0
// The communication schedules of SparDL: rounds within a team, and the workers' teams.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/synchronisers/circle_messages.hh"

namespace thinpipe::trainer {

// A round of Spar-Reduce-Scatter, in which each of P workers passes on every block but its own once. Worker r
// sends blocks r + distance to r + distance + blocks - 1 to worker r + distance. It receives blocks r to
// r + blocks - 1 from worker r - distance. All are modulo P.
struct SparRound {
  int distance = 0;
  int blocks = 0;
};

// Returns the ⌈log2 P⌉ rounds. After a round of distance d each worker has d blocks left, including its own.
inline std::vector<SparRound> spar_rounds(int workers) {
  std::vector<SparRound> rounds;
  const auto farthest = static_cast<int>(std::bit_floor(static_cast<unsigned>(workers - 1)));
  for (int distance = farthest; distance > 0; distance /= 2) {
    rounds.push_back({.distance = distance, .blocks = std::min(distance, workers - distance)});
  }
  return rounds;
}

// One worker's view of P workers in teams. The owners of a block are the workers at the same place of every team.
// Teams have consecutive ranks, which are neighbours in most networks, because workers send more within their team
// than to other teams.
struct SparTeams {
  int count = 1;    // of teams
  int members = 1;  // of each team; also the number of blocks
  int team = 0;     // of this worker
  int place = 0;    // of this worker in its team; also its block

  Circle own_team() const { return {.first = team * members, .stride = 1, .size = members}; }
  Circle owners() const { return {.first = place, .stride = members, .size = count}; }
};

// Throws Error if the teams cannot have equally many workers.
inline SparTeams spar_teams(std::int64_t teams, int rank, int workers) {
  if (workers % teams != 0) {
    throw Error(fmt::format("spardl: {} workers cannot form {} teams of equal size", workers, teams));
  }
  const auto count = static_cast<int>(teams);
  const int members = workers / count;
  return {.count = count, .members = members, .team = rank / members, .place = rank % members};
}

// Returns whether teams exchange in pairs (R-SAG in the paper); otherwise owners gather from all teams (B-SAG).
inline bool teams_form_pairs(int teams) {
  return std::has_single_bit(static_cast<unsigned>(teams));
}

}  // namespace thinpipe::trainer
