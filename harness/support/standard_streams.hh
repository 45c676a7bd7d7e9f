// Standard output and standard error as what they may be: full disks, closed descriptors, terminals.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {

// Gives descriptors 0, 1 and 2 to /dev/null where they are closed. Otherwise the next file to be opened would
// get one of them, and with it what is printed. Call it first in main().
void keep_standard_streams();

// Writes out what was printed to standard output; returns why that, or an earlier write, failed.
std::optional<std::string> flush_standard_output();

// What main() of `program` returns: exit_code, or 1 for 0 where standard output could not be written, which
// is then said.
int exit_code_with_output(std::string_view program, int exit_code);

// Prints to standard error. If that fails, nothing is said: there is nowhere to say it, and it is no reason
// to stop.
void write_stderr(std::string_view text) noexcept;

template <class... Arguments>
void print_stderr(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_stderr(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace thinpipe
