// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

// Returns a stream socket bound to this address, at any port. Throws Error naming the address if this host
// does not have it.
FileDescriptor bind_to(const std::string& address);

}  // namespace thinpipe::trainer
