// Commands of the user inside the hosts of a network.
#pragma once

#include <csignal>
#include <vector>

#include "common/support/file_descriptor.hh"
#include "harness/terminal/host_commands.hh"
#include "netem/network.hh"

namespace thinpipe {

// Exit codes that are the shell's own, as other programs that start programs have them.
inline constexpr int cannot_start = 127;

// A server is given so long to open its socket before the next command starts.
inline constexpr double longest_wait_for_socket_s = 1;

// Between the wish that a command end and its being killed.
inline constexpr double time_to_end_s = 2;

// Starts all commands, each in its host, and waits for the last: the one in the foreground, which has the
// terminal, standard input and standard output. The others, started in order, each when the one before has
// opened a socket, ended, or run for a second, read from /dev/null, and their output appears on standard
// error, each line behind the host's name. When the foreground command has ended, they are ended.
//
// Returns the exit code of the first that failed by itself, or else 0; 128 + n for one that signal n ended;
// cannot_start for one that cannot be executed. Signals that are sent to this process, but not those that its
// terminal sends to all of its group, are passed on to every command.
class Shell {
 public:
  // Holds signals back from now on, so that one that comes while the network is built is not lost: make it
  // first.
  Shell();
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  int run(const netem::Network& network, const std::vector<HostCommand>& commands);

 private:
  ::sigset_t before_{};
  FileDescriptor signals_;
};

}  // namespace thinpipe
