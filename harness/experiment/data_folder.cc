// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/data_folder.hh"

namespace thinpipe {

std::filesystem::path data_folder() {
  return THINPIPE_DATA_DIR;
}

}  // namespace thinpipe
