// SPDX-License-Identifier: Apache-2.0
// What computes an all-reduce's operation on the workers' elements.
#pragma once

#include <cstddef>
#include <span>

#include "common/protocol/reduction.hh"

namespace thinpipe::trainer {

// Reduces the i-th elements of all parts into into[i], one part after the other, for `count` elements. No
// part overlaps `into`. float16, bfloat16 and scaled blocks are summed in float32 and rounded once.
using Reduce = void (*)(void* into, std::span<const void* const> parts, std::size_t count);

}  // namespace thinpipe::trainer
