// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/host_command.hh"

#include <sched.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "netem/host_names.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/preload/preloaded.hh"

namespace thinpipe {

int exit_code(const ExitStatus& status) {
  return status.signal != 0 ? 128 + status.signal : status.code;
}

std::vector<std::pair<std::string, std::string>> host_variables(const netem::HostList& hosts,
                                                                const std::string& host) {
  std::vector<std::pair<std::string, std::string>> out = netem::polling_environment();
  out.insert(out.end(), {{"THINPIPE_TOPOLOGY", hosts.network}, {"THINPIPE_HOST", host}});
  return out;
}

void enter_host(const netem::HostList& hosts, const netem::Host& host) {
  host.enter();
  netem::resolve_names(hosts.hosts);
  system_call("create a namespace for the host's name", ::unshare(CLONE_NEWUTS));
  system_call("set the host's name", ::sethostname(host.name.data(), host.name.size()));
  netem::forget_sandbox();
}

}  // namespace thinpipe
