// A topology built in the kernel. The destructor undoes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "netem/counters.hh"
#include "netem/host.hh"
#include "netem/shape.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

// What one direction of a shaped link was asked to be, and what the kernel says it is.
struct ShapedDirection {
  std::string name;  // "left->middle"
  Shape asked;
  Shape read_back;
};

// Throws Error naming the kernel module to load when this kernel lacks what the topology's links need. Needs
// a sandbox, except for loopback; takes some milliseconds, and none where nothing but caps is asked for. A
// Network checks this itself; ask here to hear of it before anything else starts.
void check_kernel(const Topology& topology);

class Network {
 public:
  // Builds the topology and checks it: every shaper is read back, every pair of neighbouring ranks opens a
  // connection. Needs a sandbox (see sandbox.hh) unless the topology is of kind loopback. Throws Error naming
  // the attempt.
  explicit Network(const Topology& topology);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const Topology& topology() const { return topology_; }

  // In the topology's order, which is the order of ranks.
  const std::vector<Host>& hosts() const { return hosts_; }
  // Throws Error when there is no such host.
  const Host& host(std::string_view name) const;

  // Both directions of every shaped link, in the topology's order ("a->b" then "b->a"); a few system calls.
  std::vector<LinkCounters> counters() const;

  // In the order of counters().
  std::vector<ShapedDirection> shaping() const;

  // The congestion control that live sockets between the hosts use; several joined by "," should they differ,
  // empty on loopback.
  const std::string& congestion_control() const { return congestion_control_; }

  // Frames that devices lost other than in a shaper's queue, since the network was built. Reads every
  // device of every namespace: not for a tight loop.
  std::uint64_t frames_lost_outside_queues() const;

 private:
  class Fabric;  // the switches' namespace, and what is read from it

  Topology topology_;
  std::vector<Host> hosts_;
  std::unique_ptr<Fabric>
      fabric_;  // after hosts_: its devices go before the namespaces that hold their peers
  std::string congestion_control_;
  std::uint64_t frames_lost_in_construction_ = 0;
};

}  // namespace thinpipe::netem
