// What an exception says, without the stack that LibTorch adds to its own: dozens of lines that bury the
// cause.
#pragma once

#include <exception>
#include <string>

namespace thinpipe::trainer {

std::string message_of(const std::exception& error);

}  // namespace thinpipe::trainer
