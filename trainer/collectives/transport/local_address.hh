// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// Returns a stream socket bound to this address, at the first of these ports that is free, or at any port if none is named.
// Throws Error naming the address if this host does not have it.
FileDescriptor bind_to(const std::string& address, const std::vector<std::uint16_t>& ports = {});

}  // namespace thinpipe::trainer
