// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/output_file.hh"

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {

namespace fs = std::filesystem;

fs::path output_file(const std::string& option, const std::string& named, const std::string& example) {
  const Place place{fmt::format("{} {}", option, named), ""};
  const fs::path path = fs::absolute(named);
  if (!fs::is_directory(path.parent_path()))
    throw InputError(place, fmt::format("the folder {} does not exist; create it first",
                                        fs::path(named).parent_path().string()));
  // Writing would replace a link, such as /dev/stdout, instead of following it.
  const fs::file_status status = fs::symlink_status(path);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(place, fmt::format("is not a plain file; name a file to write, such as {}", example));
  return path;
}

}  // namespace thinpipe
