// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/line_splitter.hh"

#include <utility>

namespace thinpipe {

void LineSplitter::take(std::string_view bytes, const OnLine& on_line) {
  for (std::size_t end = bytes.find_first_of(ends_); end != std::string_view::npos;
       end = bytes.find_first_of(ends_)) {
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    on_line(line);
  }
  line_ += bytes;
  if (line_.size() > max_line_bytes) {
    on_line(line_);
    line_.clear();
  }
}

void LineSplitter::finish(const OnLine& on_line) {
  if (!line_.empty()) on_line(std::exchange(line_, {}));
}

}  // namespace thinpipe
