// SPDX-License-Identifier: Apache-2.0
#include "common/support/exception.hh"

#include <cerrno>

#include <fmt/format.h>

namespace thinpipe {
namespace {

// RFC 6901: '~' and '/' inside a key are escaped.
std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string where(const Place& place) {
  return place.pointer.empty() ? place.file : fmt::format("{} at {}", place.file, place.pointer);
}

}  // namespace

SystemError::SystemError(std::string_view attempt, int error_number)
    : std::system_error(error_number, std::generic_category(), std::string(attempt)) {}

Place Place::operator/(std::string_view key) const {
  return {file, pointer + "/" + escaped(key)};
}

Place Place::operator/(std::size_t index) const {
  return {file, fmt::format("{}/{}", pointer, index)};
}

InputError::InputError(const Place& place, const std::string& message)
    : Error(fmt::format("{}: {}", where(place), message)), place_(place), message_(message) {}

int system_call(std::string_view attempt, int result) {
  if (result < 0) throw SystemError(attempt, errno);
  return result;
}

long system_call(std::string_view attempt, long result) {
  if (result < 0) throw SystemError(attempt, errno);
  return result;
}

}  // namespace thinpipe
