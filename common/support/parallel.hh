// SPDX-License-Identifier: Apache-2.0
// Calls a function for many items, on up to as many threads as there are CPU cores.
#pragma once

#include <cstddef>
#include <functional>

namespace thinpipe {

// Calls act(0), …, act(count - 1), several at a time and in any order. After a call has thrown, no further
// call begins, and the first exception is rethrown.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& act);

}  // namespace thinpipe
