#pragma once

#include <string>

namespace thinpipe::trainer {

// Throws Error naming the address unless it is one of this host's, to which a socket can be bound.
void check_local_address(const std::string& address);

}  // namespace thinpipe::trainer
