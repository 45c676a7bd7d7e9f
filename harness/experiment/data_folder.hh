// SPDX-License-Identifier: Apache-2.0
// The folder of the files that come with the program, such as topologies/ and harness/schema/. No path is compiled in,
// so that an installed program needs neither its sources nor its build folder.
#pragma once

#include <filesystem>

namespace thinpipe {

// Throws Error if there is none.
std::filesystem::path data_folder();

// The same for programs in the folder `programs`: the target of the link "data" in it, which the build makes, or else
// ../share/thinpipe.
std::filesystem::path data_folder_of(const std::filesystem::path& programs);

}  // namespace thinpipe
