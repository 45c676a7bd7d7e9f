// SPDX-License-Identifier: Apache-2.0
// A vote for entries of a bucket, which one worker broadcasts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {

// The encoding of a vote for `count` of n entries, of a length that follows from both.
class IndexVote {
 public:
  // Selects the shorter encoding: a bit for every entry, or Golomb's code padded to its maximum length.
  IndexVote(std::int64_t n, std::int64_t count);

  std::int64_t bytes() const { return code_->bytes(n_, count_); }

  // Returns the indices for which `voter` votes, ascending, on every worker. `own`: these, on the voter.
  std::vector<std::uint32_t> broadcast(const std::vector<std::uint32_t>& own, int voter,
                                       Collective& network) const;

 private:
  std::int64_t n_;
  std::int64_t count_;
  std::unique_ptr<IndexCode> code_;
};

// The bytes that broadcast_count() broadcasts.
constexpr std::int64_t vote_count_bytes = 4;

// Returns `own` of the voter, on every worker.
std::int64_t broadcast_count(std::int64_t own, int voter, Collective& network);

}  // namespace thinpipe::trainer
