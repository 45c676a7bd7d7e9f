// SPDX-License-Identifier: Apache-2.0
// The machines on which simulated workers run: their cores, and the CPU time that communication takes on them. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace thinpipe {

// CPU time of a message at both ends and on the virtual network between them, of which each end has a half.
struct CommunicationCosts {
  double core_s_per_message = 0;
  double core_s_per_byte = 0;         // on a path without a cap
  double core_s_per_capped_byte = 0;  // on a path with one, where packets are small

  double core_s(double messages, double bytes, bool is_capped) const {
    return messages * core_s_per_message + bytes * (is_capped ? core_s_per_capped_byte : core_s_per_byte);
  }
};

struct MachineModel {
  double cores = 1;
  // Workers that share a machine, in the order of ranks; nullopt: all of them.
  std::optional<std::int64_t> workers_per_machine = {};
  // Network work first, then communication threads, then compute; otherwise all share the cores equally.
  bool communication_first = true;
  CommunicationCosts costs = {};
  // Time per iteration in which cores are free although workers wait for one: the kernel moves a waiting thread to
  // another core only now and then. Counts if workers outnumber the cores.
  double balancing_s = 0;
};

}  // namespace thinpipe
