// SPDX-License-Identifier: Apache-2.0
// The file whose appearance says that the controller meters the network: workers begin training then. Without it, the first
// iterations of a short run would be over before a busy controller has noticed that they began.
#pragma once

#include <optional>
#include <string>

namespace thinpipe::trainer {

// Waits until the file exists; without a path, returns at once.
void await_begin(const std::optional<std::string>& begin_file);

}  // namespace thinpipe::trainer
