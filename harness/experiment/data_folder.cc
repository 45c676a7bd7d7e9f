// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/data_folder.hh"

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {

namespace fs = std::filesystem;

fs::path data_folder_of(const fs::path& programs) {
  const fs::path built = programs / "data";
  if (fs::is_directory(built)) return fs::canonical(built);
  const fs::path installed = programs.parent_path() / "share" / "thinpipe";
  if (fs::is_directory(installed)) return installed;
  throw Error(fmt::format(
      "cannot find the files that come with thinpipe: neither {}, as in a build folder, nor {}, as after an installation, is "
      "a folder; run the program where it was built, or install it with `cmake --install`",
      built.string(), installed.string()));
}

fs::path data_folder() {
  return data_folder_of(fs::read_symlink("/proc/self/exe").parent_path());
}

}  // namespace thinpipe
