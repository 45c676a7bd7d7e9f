// Real connections between hosts, to see what the network does with them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/support/file_descriptor.hh"
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

// Payload of a full TCP frame with timestamps over the bytes that a shaper counts for it.
inline constexpr double goodput_of_cap = 1448.0 / 1514.0;

}  // namespace thinpipe::netem
