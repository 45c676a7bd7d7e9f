// A topology built in the kernel. The destructor undoes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netem/awake_cores.hh"
#include "netem/counters.hh"
#include "netem/host.hh"
#include "netem/schedule.hh"
#include "netem/shape.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

// What one direction of a shaped link was asked to be, and what the kernel says it is.
struct ShapedDirection {
  std::string name;  // "left->middle"
  Shape asked;
  Shape read_back;
  bool up = true;
};

// Throws Error naming the kernel module to load when this kernel lacks what the topology's links need. Needs
// a sandbox, except for loopback; takes some milliseconds, and none where nothing but caps is asked for. A
// Network checks this itself; ask here to hear of it before anything else starts.
void check_kernel(const Topology& topology, const Schedule& schedule = {});

class Network {
 public:
  // Builds the topology and checks it: every shaper is read back, every pair of neighbouring ranks opens a
  // connection. Needs a sandbox (see sandbox.hh) unless the topology is of kind loopback. Throws Error naming
  // the attempt. The network can become all that the schedule asks for, but does nothing of it by itself.
  // While it stands, it keeps processors awake, by default where they wake up late; not on loopback.
  explicit Network(const Topology& topology, const Schedule& schedule = {},
                   IdleCores idle_cores = IdleCores::as_needed);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const Topology& topology() const { return topology_; }

  bool keeps_cores_awake() const { return awake_cores_.has_value(); }
  // From here on; what keeping them awake took is then this process's own processor time.
  void let_cores_sleep() { awake_cores_.reset(); }

  // In the topology's order, which is the order of ranks.
  const std::vector<Host>& hosts() const { return hosts_; }
  // Throws Error when there is no such host.
  const Host& host(std::string_view name) const;

  // Both directions of every shaped link, in the topology's order ("a->b" then "b->a"); a few system calls.
  std::vector<LinkCounters> counters() const;

  // As it is now, in the order of counters().
  std::vector<ShapedDirection> shaping() const;

  // Gives a shaped direction another shape, as the schedule foresees, and returns it with what the kernel
  // then holds. Throws Error when that is something else.
  const ShapedDirection& reshape(const Crossing& direction, const Shape& asked);

  // Takes a link, by its index in the topology, down or up again in both directions. What waits in its queues
  // is lost; connections live on. Not for a link between two hosts.
  void set_link_up(std::size_t link, bool up);

  // The congestion control that live sockets between the hosts use; several joined by "," should they differ,
  // empty on loopback.
  const std::string& congestion_control() const { return congestion_control_; }

  // Frames that devices lost other than in a shaper's queue, since the network was built; some of those that
  // met a link that was down count here too. Reads every
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
  std::optional<AwakeCores> awake_cores_;
};

}  // namespace thinpipe::netem
