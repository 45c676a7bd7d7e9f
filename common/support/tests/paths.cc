// SPDX-License-Identifier: Apache-2.0
#include "common/support/tests/paths.hh"

namespace thinpipe {

std::string source_path(std::string_view path) {
  return std::string(THINPIPE_SOURCE_DIR "/").append(path);
}

std::string built_program(std::string_view name) {
  return std::string(THINPIPE_BINARY_DIR "/").append(name);
}

}  // namespace thinpipe
