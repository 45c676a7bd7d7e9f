// SPDX-License-Identifier: Apache-2.0
// The project's errors. Each names the attempted action and its object. Input errors also name the file, the
// place in it, the rule and the remedy.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace thinpipe {

// A failure at run time that no input check could have foreseen. Exit status 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A system call failed: "open /dev/shm/x: Permission denied".
class SystemError : public std::system_error {
 public:
  SystemError(std::string_view attempt, int error_number);
};

// A place in the user's input: a file and a JSON pointer inside it ("" is the whole document).
struct Place {
  std::string file;
  std::string pointer;

  // Returns the place of a member or an element of the value at this place.
  Place operator/(std::string_view key) const;
  Place operator/(std::size_t index) const;
};

// The user's input is wrong. Exit status 2. `message` states the rule and, if there is one, the remedy.
class InputError : public Error {
 public:
  InputError(const Place& place, const std::string& message);

  const Place& place() const { return place_; }
  const std::string& message() const { return message_; }

 private:
  Place place_;
  std::string message_;
};

// Throws SystemError with errno if `result` is negative; otherwise returns it.
int system_call(std::string_view attempt, int result);
long system_call(std::string_view attempt, long result);

}  // namespace thinpipe
