// SPDX-License-Identifier: Apache-2.0
// Where the workers of a group find each other: at the first worker's address, or in a folder that all of them share.
#pragma once

#include <optional>
#include <vector>

#include "common/protocol/group_options.hh"
#include "trainer/collectives/transport/peer_listener.hh"

namespace thinpipe::trainer {

// Returns the notices of all workers, by rank. Every worker of the group must call it. A rendezvous at an address accepts only
// workers that know `secret`, which it needs; the folder is as secret as its permissions. Throws Error naming the workers or
// the place that were not reached for `timeout_s`.
std::vector<PeerListener::Notice> meet(const GroupOptions& group, const std::optional<RunToken>& secret,
                                       const PeerListener::Notice& own, double timeout_s);

}  // namespace thinpipe::trainer
