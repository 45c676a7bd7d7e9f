// What a worker sends and waits for in a collective, message by message: the algorithms that the network
// backend takes, as far as time is concerned. Pure.
//
//   all_reduce    a ring in 2(N-1) rounds of 1/N of the tensor; below 32 KiB, where N is a power of two,
//   halving and
//                 doubling in 2 log2(N) rounds
//   all_gather_v  a ring in N-1 rounds, towards higher ranks
//   all_to_all_v  to each at once
//   broadcast     a binomial tree
//   barrier       log2(N) rounds of a byte
//   mailbox       as it was recorded
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
using Script = std::vector<ScriptLine>;

Script script_of(const CollectiveCall& call, int rank, int world_size);

}  // namespace thinpipe
