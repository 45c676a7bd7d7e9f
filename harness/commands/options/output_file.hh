// SPDX-License-Identifier: Apache-2.0
// A file that a command is asked to write.
#pragma once

#include <filesystem>
#include <string>

namespace thinpipe {

// Returns the absolute path of the file that `option` names. Throws InputError, before any work, if its
// folder does not exist, or if writing would replace anything but a plain file. `example` is a name that the
// message suggests.
std::filesystem::path output_file(const std::string& option, const std::string& named,
                                  const std::string& example);

}  // namespace thinpipe
