// SPDX-License-Identifier: Apache-2.0
// Quantities as people read them: rounded, with a unit. Configurations have exact ones (units.hh).
#pragma once

#include <string>

namespace thinpipe {

// "82.1 MB": three significant digits, decimal units.
std::string format_bytes(double bytes);

// "95 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);

}  // namespace thinpipe
