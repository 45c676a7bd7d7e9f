// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of bytes into lines.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace thinpipe {

class LineSplitter {
 public:
  // A longer line is passed on in pieces: a runaway writer must not fill the controller's memory.
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

  using OnLine = std::function<void(const std::string& line)>;

  // `ends`: the bytes that end a line.
  explicit LineSplitter(std::string_view ends = "\n") : ends_(ends) {}

  // Calls `on_line` with each line that these bytes complete.
  void take(std::string_view bytes, const OnLine& on_line);

  // Calls `on_line` with an incomplete last line, unless it is empty.
  void finish(const OnLine& on_line);

 private:
  std::string_view ends_;
  std::string line_;  // the beginning of an incomplete line
};

}  // namespace thinpipe
