// SPDX-License-Identifier: Apache-2.0
#include "common/support/tests/temporary_folder.hh"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "common/support/exception.hh"

namespace thinpipe {

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "thinpipe-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw SystemError("make the folder " + name, errno);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace thinpipe
