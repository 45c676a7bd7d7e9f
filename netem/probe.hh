// Real connections between hosts, to see what the network does with them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/support/file_descriptor.hh"
#include "netem/frame.hh"
#include "netem/host.hh"

namespace thinpipe::netem {

// A TCP connection whose ends live in two hosts.
struct Connection {
  FileDescriptor client;
  FileDescriptor server;
};

// Throws SystemError naming the hosts when they do not reach each other within 5 s.
Connection connect_hosts(const Host& from, const Host& to);

// The name of the congestion control that the kernel uses on the socket.
std::string congestion_control(const FileDescriptor& socket);

struct GoodputOptions {
  double settle_s = 0.3;  // the flow finds its speed, unmeasured
  double measure_s = 1.0;
};

// TCP goodput from the first host of each pair to the second, all pairs at the same time, in payload bits per
// second as the receivers see them. The best that full frames can do is the cap x 1448/1514.
std::vector<double> measure_goodput(const std::vector<std::pair<const Host*, const Host*>>& pairs,
                                    const GoodputOptions& options = {});

struct MessageOptions {
  double bytes = 65536;
  int count = 9;
  double idle_s = 0.1;  // before each: the bucket is full again, and nothing waits
};

// How long messages take from the moment one is handed to the kernel to the moment its last byte has been
// received, in seconds, sorted. They go through one connection, which has found its speed before.
std::vector<double> measure_messages(const Host& from, const Host& to, const MessageOptions& options);

// How long a byte takes to the other host and back through an idle connection, in seconds, sorted.
std::vector<double> measure_round_trips(const Host& from, const Host& to, int count = 100);

struct LossOptions {
  int count = 2000;
  double payload_bytes = 1000;
  double rate_bit_per_s = 10e6;  // of payload, evenly in time
};

// Sends datagrams from one host to the other; returns how many never arrived. A second without any ends the
// wait.
int measure_loss(const Host& from, const Host& to, const LossOptions& options);

// Of flows that share a link, how evenly: 1 when all have the same, 1/n when one of n has everything.
double jain_index(const std::vector<double>& rates);

// The least time of a message of payload bytes through a cap, in seconds.
double ideal_message_s(double bytes, double rate_bit_per_s);

}  // namespace thinpipe::netem
