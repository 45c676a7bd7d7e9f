// SPDX-License-Identifier: Apache-2.0
#include "common/support/atomic_file.hh"

#include <cstdio>
#include <random>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Not by the process's number, which processes of other machines and PID namespaces may have too.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  std::random_device random;
  return path.parent_path() /
         fmt::format(".{}.{:08x}{:08x}.tmp", path.filename().string(), random(), random());
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(temporary_name(path_)),
      file_(FileDescriptor::open(temporary_, O_WRONLY | O_CREAT | O_EXCL)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  write_all(file_, bytes, "write " + temporary_.string());
}

void AtomicFile::commit() {
  system_call("flush " + temporary_.string(), ::fsync(file_.get()));
  system_call(fmt::format("rename {} to {}", temporary_.string(), path_.string()),
              ::rename(temporary_.c_str(), path_.c_str()));
  temporary_.clear();
  // The folder holds the new name and has to be flushed separately.
  const FileDescriptor folder = FileDescriptor::open(folder_of(path_), O_RDONLY | O_DIRECTORY);
  system_call("flush " + folder_of(path_).string(), ::fsync(folder.get()));
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace thinpipe
