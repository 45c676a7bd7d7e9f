// SPDX-License-Identifier: Apache-2.0
// The network of a run in progress, for other processes on the same machine. The controller writes network.json to the run's
// folder; it tells readers of captures which host has which address, too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/file_descriptor.hh"
#include "netem/kernel/host.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

inline constexpr const char* network_file_name = "network.json";

// Writes {"topology": name, "hosts": [{"name", "address", "namespace": inode of its network namespace}]}.
void write_network_file(const std::filesystem::path& file, const Network& network);

class RunningNetwork {
 public:
  // Finds the namespaces of the hosts by the process that holds them. Throws InputError if the file is no network's, and Error if
  // no process holds them: the run has ended, is on another machine, or is another user's.
  explicit RunningNetwork(const std::filesystem::path& file);

  const std::string& topology() const { return topology_; }
  HostList hosts() const { return {topology_, hosts_}; }

  // Moves this process, which must have a single thread, into the sandbox's user namespace: only there it may enter the hosts.
  // Throws SystemError.
  void enter_sandbox() const;

 private:
  std::string topology_;
  std::vector<Host> hosts_;
  FileDescriptor user_namespace_;
};

}  // namespace thinpipe::netem
