// Queueing disciplines, as requests to the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "netem/netlink.hh"

namespace thinpipe::netem {

// Whether what is asked for is new, or there already and to be changed.
enum class Edit { add, change };

// The flags of the request that does so.
int request_flags(Edit edit);

// The place inside a qdisc of the handle that holds one other.
constexpr std::uint32_t inside(std::uint32_t handle) {
  return handle | 1;
}

OwnedQdisc new_qdisc(int ifindex, std::uint32_t parent, std::uint32_t handle, const char* kind);

// A queue that counts bytes.
OwnedQdisc new_byte_queue(int ifindex, std::uint32_t parent, std::uint32_t handle, double limit_bytes);

// Throws Error naming the module to load where this kernel does not have the kind.
void put(const NetlinkSocket& socket, Edit edit, const std::string& attempt, const OwnedQdisc& qdisc);

// That error: "shape left->middle: this kernel has no tbf qdisc (module sch_tbf); load ...".
Error missing_module(const std::string& attempt, const std::string& what, const std::string& module);

}  // namespace thinpipe::netem
