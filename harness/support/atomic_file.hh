// A file that appears whole or not at all: at no moment, and after no crash, does a reader see half of it.
#pragma once

#include <filesystem>
#include <string_view>

#include "harness/support/file_descriptor.hh"

namespace thinpipe {

class AtomicFile {
 public:
  // Opens a temporary file, .NAME.PID.tmp, beside `path`. Throws SystemError naming it, as do the others.
  explicit AtomicFile(std::filesystem::path path);
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
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once it has its name
  FileDescriptor file_;
};

// Replaces `path` by `text`.
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace thinpipe
