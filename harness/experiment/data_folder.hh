// SPDX-License-Identifier: Apache-2.0
// The folder of the files that come with the program, such as topologies/ and harness/schema/.
#pragma once

#include <filesystem>

namespace thinpipe {

std::filesystem::path data_folder();

}  // namespace thinpipe
