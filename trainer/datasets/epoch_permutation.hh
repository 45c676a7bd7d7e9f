// The order in which an epoch takes its training examples.
#pragma once

#include <cstdint>
#include <vector>

namespace thinpipe::trainer {

// A permutation of 0..examples-1 that depends on (seed, epoch) alone: Fisher-Yates on words of Philox4x32-10,
// bounded without bias by Lemire's method. The same on every machine; the standard library's shuffle is not.
std::vector<std::int64_t> epoch_permutation(std::int64_t examples, std::uint64_t seed, std::int64_t epoch);

}  // namespace thinpipe::trainer
