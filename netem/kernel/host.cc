// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/host.hh"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include "common/support/exception.hh"
#include "common/support/nearest.hh"

namespace thinpipe::netem {

void Host::enter() const {
  if (!network_namespace) return;
  network_namespace->enter();
  system_call("make IPC and mount namespaces for " + name, ::unshare(CLONE_NEWIPC | CLONE_NEWNS));
  system_call("mount a private /dev/shm for " + name,
              ::mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"));
}

const Host& HostList::find(std::string_view name) const {
  const auto found = std::ranges::find(hosts, name, &Host::name);
  if (found != hosts.end()) return *found;
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  throw Error(fmt::format("the topology {} has no host \"{}\"{}", network, name, suggestion(name, names)));
}

}  // namespace thinpipe::netem
