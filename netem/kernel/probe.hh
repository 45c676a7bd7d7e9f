// SPDX-License-Identifier: Apache-2.0
// Measures a network with real connections between its hosts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "netem/kernel/host_sockets.hh"
#include "netem/topology/frame.hh"

namespace thinpipe::netem {

// Returns the name of the congestion control that the kernel uses on the socket.
std::string congestion_control(const FileDescriptor& socket);

// Returns the bytes of the largest packet that the kernel sends on the connected socket.
unsigned largest_packet_bytes(const FileDescriptor& socket);

struct GoodputOptions {
  double settle_s = 0.3;  // warm-up of the flow, not measured
  double measure_s = 1.0;
};

// Returns TCP goodput from the first host of each pair to the second, in payload bits per second as received.
// All pairs send at the same time. Full frames of 1500-byte packets reach at most the cap x 1448/1514.
std::vector<double> measure_goodput(const std::vector<std::pair<const Host*, const Host*>>& pairs,
                                    const GoodputOptions& options = {});

struct MessageOptions {
  double bytes = 65536;
  int count = 9;
  double idle_s = 0.1;  // before each message, so that the bucket is full and nothing waits
};

// Returns the times of messages in seconds, sorted: from handing one to the kernel until its last byte is
// received. They use one connection, which has been warmed up.
std::vector<double> measure_messages(const Host& from, const Host& to, const MessageOptions& options);

// Returns round-trip times of a byte through an idle connection, in seconds, sorted.
std::vector<double> measure_round_trips(const Host& from, const Host& to, int count = 100);

struct LossOptions {
  int count = 2000;
  double payload_bytes = 1000;
  double rate_bit_per_s = 10e6;  // of payload, evenly paced
  double silence_s = 1;          // without arrivals, which ends the wait: more than the path's delay
};

// Sends datagrams from one host to the other. Returns how many never arrived.
int measure_loss(const Host& from, const Host& to, const LossOptions& options);

// Returns Jain's fairness index of flows that share a link: 1 if all are equally fast, 1/n if one of n has
// everything.
double jain_index(const std::vector<double>& rates);

// Returns the lower bound on the time of a message through a cap, in seconds. `bytes`: of payload.
double ideal_message_s(double bytes, double rate_bit_per_s, const Frame& frame = {});

}  // namespace thinpipe::netem
