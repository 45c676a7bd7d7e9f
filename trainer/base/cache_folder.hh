// SPDX-License-Identifier: Apache-2.0
// The folder of this user for data that can be computed again.
#pragma once

#include <filesystem>
#include <string>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// Returns $XDG_CACHE_HOME/thinpipe/NAME or ~/.cache/thinpipe/NAME, after creating it. Throws Error with the
// remedy if it cannot be created, or if neither variable is set.
std::filesystem::path cache_folder(const std::string& name);

// Waits until no other process holds the lock of this path, then holds it until the descriptor is closed, at
// the latest when this process ends. The file PATH.lock stays: removing it would let two processes lock two
// files of the same name.
FileDescriptor hold_lock(const std::filesystem::path& path);

}  // namespace thinpipe::trainer
