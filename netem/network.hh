// SPDX-License-Identifier: Apache-2.0
// A topology built in the kernel. The destructor removes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netem/kernel/awake_cores.hh"
#include "netem/kernel/counters.hh"
#include "netem/kernel/host.hh"
#include "netem/topology/link_shape.hh"
#include "netem/topology/schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// One direction of a shaped link: the shape asked for, and the shape that the kernel reports.
struct ShapedDirection {
  std::string name;  // "left->middle"
  LinkShape asked;
  LinkShape read_back;
  bool up = true;
};

// The device at one end of a link. What it sends, after its queue, and what it receives are all frames of the link.
struct LinkEnd {
  const NetworkNamespace& network_namespace;
  std::string device;
};

// Throws Error naming the kernel module to load if this kernel lacks a feature that the topology's links
// need. Needs a sandbox, except for loopback. Takes some milliseconds, or none if links have nothing but
// caps. Network's constructor checks this too; call this function to fail before anything else starts.
void check_kernel(const Topology& topology, const Schedule& schedule = {});

class Network {
 public:
  // Builds the topology and checks it: reads back every shaper, and connects every pair of neighbouring
  // ranks. Needs a sandbox (sandbox.hh) unless the topology is of kind loopback. Throws Error naming the
  // attempt. The network can make every change in the schedule, but makes none by itself. While it exists, it
  // keeps CPUs awake: by default only if they wake up late and no quota of CPU time forbids it, and never on
  // loopback.
  explicit Network(const Topology& topology, const Schedule& schedule = {},
                   IdleCores idle_cores = IdleCores::as_needed);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const Topology& topology() const { return topology_; }

  bool keeps_cores_awake() const { return awake_cores_.has_value(); }
  // Returns what keeps CPUs awake; nullptr if nothing does.
  const AwakeCores* awake_cores() const { return awake_cores_ ? &*awake_cores_ : nullptr; }
  // Lets CPUs sleep from now on. The CPU time spent on keeping them awake then counts as this process's own.
  void let_cores_sleep() { awake_cores_.reset(); }

  // Returns the hosts in the topology's order, which is the order of ranks.
  const std::vector<Host>& hosts() const { return hosts_; }
  HostList host_list() const { return {topology_.name, hosts_}; }
  // Returns the host of this name. Throws Error if there is none.
  const Host& host(std::string_view name) const;

  // Reads the counters of every shaped direction, in the topology's order ("a->b" then "b->a"), with a few
  // system calls.
  std::vector<LinkCounters> counters() const;

  // Returns the current shapes, in the order of counters().
  std::vector<ShapedDirection> shaping() const;

  // Gives a shaped direction another shape, one that the schedule contains, and reads it back. Throws Error
  // if the kernel then holds another shape than asked for.
  const ShapedDirection& reshape(const DirectedLink& direction, const LinkShape& asked);

  // Takes a link, by its index in the topology, down or up in both directions. Frames in its queues are lost;
  // connections survive. Throws Error for a link between two hosts.
  void set_link_up(std::size_t link, bool up);
  // Returns whether any link was taken down, with or without a cap.
  bool links_went_down() const { return links_went_down_; }

  // Returns an end of a link, by its index in the topology; a switch's, unless both are hosts. It is valid while the network
  // exists.
  LinkEnd link_end(std::size_t link) const;

  // Returns the congestion control that live sockets of the hosts use, as describe_congestion_controls does
  // (topology.hh); empty on loopback.
  const std::string& congestion_control() const { return congestion_control_; }
  // Returns the topology's, in the same form.
  std::string asked_congestion_control() const {
    return describe_congestion_controls(topology_, congestion_controls(topology_));
  }
  // Returns whether the two are the same. A single host has no sockets to look at.
  bool has_congestion_control() const {
    return hosts_.size() < 2 || congestion_control_ == asked_congestion_control();
  }

  // Returns the number of frames that devices lost since the network was built, other than in a shaper's
  // queue. It includes some of those that met a link that was down. Reads every device of every namespace:
  // not for a tight loop.
  std::uint64_t frames_lost_outside_queues() const;

 private:
  class Devices;  // in the kernel (network_devices.hh)

  Topology topology_;
  std::vector<Host> hosts_;
  // After hosts_: its devices must go before the namespaces that hold their peers.
  std::unique_ptr<Devices> devices_;
  std::string congestion_control_;
  bool links_went_down_ = false;
  std::uint64_t frames_lost_in_construction_ = 0;
  std::optional<AwakeCores> awake_cores_;
};

}  // namespace thinpipe::netem
