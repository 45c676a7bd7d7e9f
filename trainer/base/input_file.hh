// SPDX-License-Identifier: Apache-2.0
// A file of known size, read piece by piece directly to its destination.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

class InputFile {
 public:
  // Throws SystemError naming the path; so does read().
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  // Fills `out` from `offset` on; throws Error if the file ends before `out` is full.
  void read(std::uint64_t offset, std::span<char> out) const;

  // Returns up to that many bytes of the beginning, which show the kind of file.
  std::string beginning(std::uint64_t bytes) const;

 private:
  std::string path_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace thinpipe::trainer
