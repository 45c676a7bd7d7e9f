// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/python_package.hh"

#include <cstdlib>
#include <sstream>
#include <system_error>

#include <unistd.h>

#include "harness/experiment/data_folder.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// As execvp finds it; an empty path if there is none.
fs::path located(const std::string& program, const fs::path& folder) {
  if (program.find('/') != std::string::npos) return folder / program;
  const char* const searched = std::getenv("PATH");
  std::istringstream folders(searched == nullptr ? "" : searched);
  for (std::string each; std::getline(folders, each, ':');) {
    fs::path place = folder / each / program;
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return {};
}

// The Python of a virtual environment is a link to another one, but has packages of its own: the folders must
// be the same, too.
bool is_same_python(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && fs::equivalent(one.parent_path(), other.parent_path(), error);
}

// The package with its extension: beside the programs, or installed with them.
fs::path whole_package() {
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path built = programs / "python";
  return fs::exists(built) ? built : programs.parent_path() / "lib" / "thinpipe" / "python";
}

}  // namespace

fs::path python_package_for(const std::string& program, const fs::path& folder) {
  const fs::path whole = whole_package();
  const bool fits = fs::exists(whole / "thinpipe" / "_core.so") &&
                    is_same_python(located(program, folder), THINPIPE_PYTHON_INTERPRETER);
  return fits ? whole : data_folder() / "trainer" / "python";
}

}  // namespace thinpipe
