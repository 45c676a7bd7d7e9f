// SPDX-License-Identifier: Apache-2.0
// The messages that a worker sends and waits for in a collective: the algorithms of the network backend, as
// far as they affect time. Pure.
//
//   all_reduce         a ring of 2(N-1) blocks of 1/N of the tensor: with a backend that streams, each piece of a block
//                      is forwarded when it arrives; else in Gloo's segments, of which two are under way. Below 32 KiB
//                      in groups of two workers and, at last, of the odd factor of N: halving and doubling if N is a
//                      power of two. With a backend that streams and such an N, recursive doubling in log2(N) rounds
//                      below 4 KiB
//   all_gather_v       a ring towards higher ranks: with a backend that streams, each piece of a block is forwarded when
//                      it arrives; else in N-1 rounds of whole blocks, of which the largest one holds up the others
//   all_to_all_v       directly to all others at once
//   broadcast          a binomial tree, in pieces
//   barrier            log2(N) rounds of one byte
//   point_to_point     as recorded
//
// Gloo sends a message when its receiver has said that it waits for it, so that a message takes twice the delay if both
// begin together, and a point-to-point message three times: its receiver waits for anyone, and must be asked. There is room
// for one such message from each other worker. Streams are our own, and do not wait.
//
// Along a reduction tree, in pieces, so that all edges are busy at the same time:
//   all_reduce         sums up the tree, the result down it; of codes, to each neighbour the sum of all workers but those
//                      behind it
//   sparse_all_reduce  likewise, with the recorded bytes on each edge
//   all_gather_v       each worker's block to all others
//   broadcast          the root's block to all others
#pragma once

#include <vector>

#include "common/protocol/call.hh"

namespace thinpipe {

struct ScheduledMessage {
  enum class Kind {
    send,         // sends to a peer, after earlier messages to it; does not block
    receive,      // waits for the next message from a peer
    receive_any,  // waits for the next point-to-point message from any peer
    ready,        // tells a peer that its next message that is sent `when_ready` may leave
    departed,     // waits until all messages to a peer have left, or the last one is on its way
    arrived       // waits until a number of messages from a peer have come, and leaves them to be received
  };

  Kind kind = Kind::send;
  int peer = -1;
  double bytes = 0;                // of a sent message
  bool is_point_to_point = false;  // of a sent message: any peer takes it as the next one
  int pieces = 1;                  // of a message that is sent in pieces, of which this is one
  bool when_ready = false;         // a sent message leaves when its receiver is ready for it
  int arrivals = 0;                // of `arrived`
};

// Messages that follow each other. A worker's lanes run in parallel.
struct Lane {
  std::vector<ScheduledMessage> messages = {};
  std::vector<int> forwards_to = {};  // peers to which each received message is forwarded
};
using MessageSchedule = std::vector<Lane>;

// How a backend routes its collectives.
struct CollectiveRouting {
  std::vector<int> reduction_tree = {};  // each worker's parent, -1 at the root; empty: a ring
  bool is_streamed = false;              // without a tree: the backend `ring`, else `gloo`
};

// Returns in how many pieces the simulation sends a message that workers stream: at most 128, none if it is empty.
int pieces_of(double bytes);

MessageSchedule message_schedule_of(const CollectiveCall& call, int rank, int world_size,
                                    const CollectiveRouting& routing = {});

}  // namespace thinpipe
