// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/input_file.hh"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

InputFile::InputFile(std::string path) : path_(std::move(path)), file_(open_regular_file(path_)) {
  struct stat about {};
  system_call("look up " + path_, ::fstat(file_.get(), &about));
  size_ = static_cast<std::uint64_t>(about.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    system_call("read " + path_, got);
    if (got == 0) throw Error(fmt::format("{} ends at byte {}, in the middle of its data", path_, offset));
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::string InputFile::beginning(std::uint64_t bytes) const {
  std::string out(static_cast<std::size_t>(std::min(bytes, size_)), '\0');
  read(0, out);
  return out;
}

}  // namespace thinpipe::trainer
