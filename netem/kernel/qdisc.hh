// SPDX-License-Identifier: Apache-2.0
// Requests to the kernel for queueing disciplines, and its descriptions of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netem/kernel/netlink.hh"

namespace thinpipe::netem {

// Whether a request adds a new object or changes an existing one.
enum class Edit { add, change };

// Returns the netlink flags of such a request.
int request_flags(Edit edit);

// Returns the parent handle for the only child of the qdisc with this handle.
constexpr std::uint32_t inside(std::uint32_t handle) {
  return handle | 1;
}

OwnedQdisc new_qdisc(int ifindex, std::uint32_t parent, std::uint32_t handle, const char* kind);

// Returns a FIFO queue whose limit is in bytes (bfifo).
OwnedQdisc new_byte_queue(int ifindex, std::uint32_t parent, std::uint32_t handle, double limit_bytes);

// Sends the request. Throws Error naming the module to load if this kernel lacks the kind of qdisc.
void put(const NetlinkSocket& socket, Edit edit, const std::string& attempt, const OwnedQdisc& qdisc);
void put(const NetlinkSocket& socket, Edit edit, const std::string& attempt, const std::string& kind,
         const OwnedMessage& request);

// Names a qdisc in a namespace.
struct QdiscId {
  int ifindex = 0;
  std::uint32_t handle = 0;
};

// A qdisc as the kernel described it; all members are empty if there was none.
struct QdiscReply {
  explicit QdiscReply(std::vector<char> message);  // RTM_NEWQDISC, or none
  QdiscReply(QdiscReply&&) = default;
  QdiscReply& operator=(QdiscReply&&) = default;

  std::vector<char> message;  // the views and pointers below are into it
  std::string_view kind;
  nlattr* options = nullptr;     // TCA_OPTIONS, by kind
  nlattr* statistics = nullptr;  // TCA_XSTATS, by kind
  std::uint64_t bytes = 0;       // sent
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;
  std::uint64_t backlog_bytes = 0;  // waiting
};

// Reads these qdiscs, in this order. Asks for each of them: with fair queues, a namespace has hundreds, and listing
// them all takes far longer (netem_benchmark, read_counters). Throws Error if the kernel refuses.
std::vector<QdiscReply> read_qdiscs(const NetlinkSocket& socket, std::span<const QdiscId> ids);

// Returns that error: "shape left->middle: this kernel has no tbf qdisc (module sch_tbf); load ...".
Error missing_module(const std::string& attempt, const std::string& what, const std::string& module);

}  // namespace thinpipe::netem
