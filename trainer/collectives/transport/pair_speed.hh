// SPDX-License-Identifier: Apache-2.0
// Measures a connection between two workers.
#pragma once

#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

// Each of these functions has a counterpart that the other worker must call at the same time. They throw Error naming
// the rank if the connection breaks, or if nothing passes for `timeout_s`.

// Returns the median time of a message there and back, in seconds. Takes some round trips, for at most about `longest_s`.
double measure_round_trip_s(Peer& peer, double longest_s, double timeout_s);
void answer_round_trips(Peer& peer, double timeout_s);

// Sends for this time, and then until all has arrived.
void send_for(Peer& peer, double seconds, double timeout_s);

// Returns the rate of what send_for() sends, without headers, in bit/s. Leaves out the first quarter of the time, in
// which TCP probes the path.
double measure_received_bit_per_s(Peer& peer, double seconds, double timeout_s);

}  // namespace thinpipe::trainer
