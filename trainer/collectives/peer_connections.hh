// How workers come to be connected with each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/collectives/collective.hh"
#include "trainer/collectives/peer.hh"

namespace thinpipe::trainer {

// Connects every worker with those it names, which name it too. Addresses are exchanged through `group`; all
// traffic is bound to `address`. Every worker of the group calls it. Throws Error.
std::map<int, Peer> connect_peers(Collective& group, const std::string& address,
                                  const std::vector<int>& peers, double timeout_s);

}  // namespace thinpipe::trainer
