// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory for reading: the kernel reads pages when they are used and may drop them again,
// so that the file may be larger than memory, and workers on one machine share the pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace thinpipe::trainer {

class MappedFile {
 public:
  // Throws SystemError naming the path if it cannot be opened or mapped, and Error if it is not a regular
  // file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  // The content; empty for an empty file. A process that reads it after another has cut the file short is
  // ended by the kernel (SIGBUS).
  std::span<const std::uint8_t> bytes() const { return {bytes_, size_}; }
  std::span<const char> characters() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

 private:
  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thinpipe::trainer
