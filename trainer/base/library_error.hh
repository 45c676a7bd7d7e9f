// SPDX-License-Identifier: Apache-2.0
// The message of an exception, without the stack that LibTorch adds to it: dozens of lines
// that hide the cause.
#pragma once

#include <exception>
#include <string>

namespace thinpipe::trainer {

std::string message_of(const std::exception& error);

}  // namespace thinpipe::trainer
