// A file that appears whole or not at all: at no moment does a reader see half of it.
#pragma once

#include <string>
#include <string_view>

#include "harness/support/file_descriptor.hh"

namespace thinpipe::trainer {

class AtomicFile {
 public:
  // Opens a temporary file beside `path`. Throws SystemError naming it, as do the others.
  explicit AtomicFile(std::string path);
  // Without commit() nothing is left behind.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  // Appends.
  void write(std::string_view bytes);

  // Brings all to disk and gives the file its name, in place of what had it before.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  FileDescriptor file_;
};

}  // namespace thinpipe::trainer
