// The same for many things, on as many threads as there are CPU cores.
#pragma once

#include <cstddef>
#include <functional>

namespace thinpipe {

// Calls act(0), …, act(count - 1), several at a time and in any order. If one throws, no further one begins,
// and the first exception is thrown on.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& act);

}  // namespace thinpipe
