// What a worker sends and waits for in a collective, message by message: the algorithms that the network
// backend takes, as far as time is concerned. Pure.
//
//   all_reduce    a ring in 2(N-1) rounds of 1/N of the tensor; below 32 KiB, where N is a power of two,
//                 halving and doubling in 2 log2(N) rounds, or below 4 KiB, with a backend that has its own
//                 connections for it, swapping in log2(N)
//   all_gather_v  a ring in N-1 rounds, towards higher ranks
//   all_to_all_v  to each at once
//   broadcast     a binomial tree
//   barrier       log2(N) rounds of a byte
//   mailbox       as it was recorded
//
// Along a tree of the workers, in pieces, so that all edges carry them at a time:
//   all_reduce    sums up the tree, the result down it
//   sum_entries   likewise, as much over each edge as was recorded
//   all_gather_v  every worker's to all others
//   broadcast     the root's to all others
#pragma once

#include <vector>

#include "harness/replay/call.hh"

namespace thinpipe {

struct ScriptLine {
  enum class Kind {
    send,        // to a peer, after what was sent to it before; goes on at once
    receive,     // waits for the next message from a peer
    take_letter  // waits for the next letter, whoever sent it
  };

  Kind kind = Kind::send;
  int peer = -1;
  double bytes = 0;        // of one sent
  bool is_letter = false;  // of one sent
};

// What follows one after the other; a worker's tracks go on beside each other.
struct Track {
  std::vector<ScriptLine> lines = {};
  std::vector<int> passes_on_to = {};  // what it receives goes to these peers too
};
using Script = std::vector<Track>;

// Which ways a backend's collectives go.
struct Ways {
  std::vector<int> parents = {};  // of each worker in the tree, -1 at its root; empty: around a ring
  bool swaps_least = false;       // all-reduces of less than only_hops_matter_bytes, where there is no tree
};

Script script_of(const CollectiveCall& call, int rank, int world_size, const Ways& ways = {});

}  // namespace thinpipe
