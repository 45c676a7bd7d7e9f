// SPDX-License-Identifier: Apache-2.0
// A curve in one line of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace thinpipe {

// Returns the curve of values between 0 and 1 as block characters, "▁▂▅▇": the lowest stands for values below 1/8, the
// highest for those from 7/8 on. If there are more values than `columns`, each character shows the mean of neighbours.
std::string sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace thinpipe
