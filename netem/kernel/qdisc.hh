// SPDX-License-Identifier: Apache-2.0
// Requests to the kernel for queueing disciplines.
#pragma once

#include <cstdint>
#include <string>

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

// Returns that error: "shape left->middle: this kernel has no tbf qdisc (module sch_tbf); load ...".
Error missing_module(const std::string& attempt, const std::string& what, const std::string& module);

}  // namespace thinpipe::netem
