// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/mapped_file.hh"

#include <cerrno>

#include <sys/mman.h>
#include <sys/stat.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {

MappedFile::MappedFile(const std::string& path) {
  const FileDescriptor file = open_regular_file(path);
  struct stat about {};
  system_call("look up " + path, ::fstat(file.get(), &about));
  if (about.st_size == 0) return;  // the kernel maps no empty ranges
  void* const begin =
      ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) throw SystemError("map " + path + " into memory", errno);
  bytes_ = static_cast<const std::uint8_t*>(begin);
  size_ = static_cast<std::size_t>(about.st_size);
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) ::munmap(const_cast<std::uint8_t*>(bytes_), size_);
}

}  // namespace thinpipe::trainer
