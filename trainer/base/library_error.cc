// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/library_error.hh"

#include <c10/util/Exception.h>

namespace thinpipe::trainer {

std::string message_of(const std::exception& error) {
  const auto* library = dynamic_cast<const c10::Error*>(&error);
  return library == nullptr ? error.what() : library->what_without_backtrace();
}

}  // namespace thinpipe::trainer
