// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: no reader ever sees part of it, even after a crash.
#pragma once

#include <filesystem>
#include <string_view>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

class AtomicFile {
 public:
  // Opens a temporary file of its own, .NAME.<16 random hexadecimal digits>.tmp, beside `path`. Throws
  // SystemError with its name, as write() and commit() do.
  explicit AtomicFile(std::filesystem::path path);
  // Removes the temporary file unless commit() has renamed it.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  // Appends to the temporary file.
  void write(std::string_view bytes);

  // Flushes the file to disk and renames it to `path`, replacing any file of that name.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty after commit()
  FileDescriptor file_;
};

// Replaces the contents of `path` with `text`.
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace thinpipe
