// Reads the reduction tree of workers from an input file.
#pragma once

#include <cstdint>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Returns member "parents": each worker's parent, -1 for the root, as in Membership. Empty if there is none.
// Throws InputError if the list is not a tree of that many workers.
std::vector<int> read_parents(JsonObject& object, std::int64_t world_size);

}  // namespace thinpipe::trainer
