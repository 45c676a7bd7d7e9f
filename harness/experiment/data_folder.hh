// The folder of the files that come with the program: topologies/, experiments/, harness/schema/.
#pragma once

#include <filesystem>

namespace thinpipe {

std::filesystem::path data_folder();

}  // namespace thinpipe
