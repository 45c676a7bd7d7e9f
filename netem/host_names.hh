// SPDX-License-Identifier: Apache-2.0
// Host names for the programs that run inside a host: "ping w3".
#pragma once

#include <string>
#include <vector>

#include "netem/kernel/host.hh"

namespace thinpipe::netem {

// Returns a hosts(5) file: the network's hosts, then `own`, the machine's file, without entries for another
// network's hosts. The first entry of a name counts.
std::string hosts_file(const std::vector<Host>& hosts, const std::string& own);

// Returns an nsswitch.conf(5) file that looks host names up only in the hosts file. A name server is out of
// reach, and a resolver behind a socket in the file system would answer for the machine outside.
std::string name_service_file(const std::string& own);

// Lets the calling process, which is inside a host (Host::enter), find the network's hosts by name. Only its
// own mount namespace sees the files. Throws SystemError, also if the machine has no /etc/hosts.
void resolve_names(const std::vector<Host>& hosts);

}  // namespace thinpipe::netem
