// SPDX-License-Identifier: Apache-2.0
// A running program that answers each line on its standard input with a line on its standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/support/child_process.hh"

namespace thinpipe {

class Conversation {
 public:
  // Starts the program; throws Error with its name if it cannot be executed.
  explicit Conversation(const std::vector<std::string>& arguments);

  // Returns the program and its arguments.
  const std::string& name() const { return name_; }

  // Sends a line. The program may be working on an earlier one.
  void send_line(std::string_view line);

  // Returns the next line of the program. Throws Error with the program's arguments and exit status if it ends
  // without one.
  std::string receive_line();

  // Sends a line and returns the next line of the program, as both do.
  std::string ask(std::string_view line) {
    send_line(line);
    return receive_line();
  }

 private:
  bool receive();
  short wait_for(short events) const;

  std::string name_;
  FileDescriptor socket_;
  ChildProcess child_;
  std::string received_;  // after the last line that receive_line() returned
};

}  // namespace thinpipe
