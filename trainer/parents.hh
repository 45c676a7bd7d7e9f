// The tree of workers that an input file tells of.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe::trainer {

// "parents": of each worker, -1 at the root; as in Membership. Empty where there is none. Throws InputError
// for what is no tree of so many workers.
std::vector<int> read_parents(JsonObject& object, std::int64_t world_size);

}  // namespace thinpipe::trainer
