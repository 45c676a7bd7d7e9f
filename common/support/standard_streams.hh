// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error, which may be closed or on a full disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {

// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed. Otherwise the next opened file would
// get that descriptor, and printed text with it. Call this first in main().
void keep_standard_streams();

// Flushes standard output. Returns why this or an earlier write failed; nullopt if none did.
std::optional<std::string> flush_standard_output();

// Returns the exit code for main(): `exit_code`, but 1 instead of 0 if standard output could not be written.
// Reports that failure on standard error.
int exit_code_with_output(std::string_view program, int exit_code);

// Prints to standard error. Ignores failures: they cannot be reported, and are no reason to stop.
void write_stderr(std::string_view text) noexcept;

template <class... Arguments>
void print_stderr(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_stderr(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace thinpipe
