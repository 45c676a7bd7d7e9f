// SPDX-License-Identifier: Apache-2.0
// The option --target of commands that read results.
#pragma once

#include <string>

#include "common/support/target.hh"

namespace thinpipe {

// Reads "0.84" or "METRIC=VALUE". Throws InputError naming the option.
Target parse_target(const std::string& text);

}  // namespace thinpipe
