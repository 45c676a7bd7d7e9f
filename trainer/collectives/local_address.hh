#pragma once

#include <string>

#include "harness/support/file_descriptor.hh"

namespace thinpipe::trainer {

// A stream socket bound to this address, at any port. Throws Error naming the address unless it is one of
// this host's.
FileDescriptor bind_to(const std::string& address);

}  // namespace thinpipe::trainer
