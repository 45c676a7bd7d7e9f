// SPDX-License-Identifier: Apache-2.0
// Prints a command's output as it arrives, each line with a prefix.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

class LineRelay {
 public:
  // Longer lines are printed in pieces: a command must not fill this process's memory.
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 22;

  // `source`: the read end of a pipe. `target`: stdout or stderr.
  LineRelay(FileDescriptor source, std::string prefix, std::FILE* target);

  // Readable when there is output; closed after its end.
  const FileDescriptor& source() const { return source_; }

  // Prints every complete line of the output that has arrived so far, up to a limit, so that a command that
  // writes without end cannot delay its caller. A carriage return ends a line too, as progress bars use it.
  // Does not block on the source.
  void relay();

  // Prints the output that is in the pipe now, with an incomplete last line, and closes the source. Does not
  // wait for processes that the command leaves behind, which may hold the pipe open.
  void finish();

 private:
  // Returns the number of bytes read and prints their lines. Returns 0 if there are none now, or after the end
  // of the output, which closes the source.
  std::size_t read_some();
  void print_lines(bool with_incomplete);
  void append_line(std::string& out, std::size_t begin, std::size_t end) const;

  FileDescriptor source_;
  std::string prefix_;
  std::FILE* target_;
  std::string unprinted_;
  std::size_t scanned_ = 0;  // bytes of unprinted_ that contain no line's end
};

}  // namespace thinpipe
