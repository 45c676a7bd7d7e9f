// SPDX-License-Identifier: Apache-2.0
// Connects workers to each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/collectives/collective.hh"
#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

// Connects every worker to those it names, which must name it too. Addresses are exchanged through `group`;
// all traffic is bound to `address`. Every worker of the group must call it. Throws Error.
std::map<int, Peer> connect_peers(Collective& group, const std::string& address,
                                  const std::vector<int>& peers, double timeout_s);

}  // namespace thinpipe::trainer
