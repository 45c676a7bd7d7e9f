// Names of hosts for the programs that run inside one: "ping w3".
#pragma once

#include <string>
#include <vector>

#include "netem/host.hh"

namespace thinpipe::netem {

// A hosts(5) file: the network's hosts, then what the machine's own text says beside another network's hosts;
// of one name the first counts.
std::string hosts_file(const std::vector<Host>& hosts, const std::string& own);

// An nsswitch.conf(5) file that looks names of hosts up in that file alone: a name server cannot be reached,
// and a resolver that answers over a socket in the file system would answer for the machine outside.
std::string name_service_file(const std::string& own);

// Makes the calling process, which is inside a host (Host::enter), find the network's hosts by name. Only its
// own mount namespace sees the files. Throws SystemError; so also on a machine without /etc/hosts.
void resolve_names(const std::vector<Host>& hosts);

}  // namespace thinpipe::netem
