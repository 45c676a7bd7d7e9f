// SPDX-License-Identifier: Apache-2.0
// The message schedules of collectives along a reduction tree.
#pragma once

#include <optional>

#include "harness/simulation/message_schedule.hh"

namespace thinpipe {

// Returns nullopt for a call that does not use the tree.
std::optional<MessageSchedule> tree_message_schedule_of(const CollectiveCall& call, int rank,
                                                        const std::vector<int>& parents);

}  // namespace thinpipe
