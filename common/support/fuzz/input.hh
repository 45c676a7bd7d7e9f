// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets. Each passes libFuzzer's bytes to one parser, which must accept them or throw an
// Error. Any other exception, undefined behaviour, a leak or unbounded memory use is a finding.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe::fuzz {

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Returns 0, as a fuzz target must.
int expect_result_or_error(const auto& parse) {
  try {
    parse();
  } catch (const Error&) {
    // Refusing the input is a valid result.
  }
  return 0;
}

inline void require(bool condition, const char* what) {
  if (condition) return;
  fmt::print(stderr, "does not hold: {}\n", what);
  std::abort();
}

// A file in memory, for parsers that need a path.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size)
      : file_(system_call("create a file in memory", ::memfd_create("input", MFD_CLOEXEC))) {
    write_all(file_, text(data, size), "fill a file in memory");
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  FileDescriptor file_;
};

}  // namespace thinpipe::fuzz
