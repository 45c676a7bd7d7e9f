// SPDX-License-Identifier: Apache-2.0
#include "common/support/conversation.hh"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// Returns the program with `socket` and the other end of a new pair as its standard input and output.
ChildProcess start(const std::vector<std::string>& arguments, FileDescriptor& socket) {
  std::array<int, 2> ends{};
  system_call("create a pair of sockets", ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  socket = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  return ChildProcess(
      {.arguments = arguments, .standard_input = theirs.get(), .standard_output = theirs.get()});
}

}  // namespace

Conversation::Conversation(const std::vector<std::string>& arguments)
    : name_(fmt::format("{}", fmt::join(arguments, " "))), child_(start(arguments, socket_)) {}

// Receives meanwhile: the program may first have to get rid of an answer that is longer than the socket holds.
// Stops when the child has ended or closed its end: receive_line() then reports its exit status.
void Conversation::send_line(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  std::string_view bytes = text;
  while (!bytes.empty()) {
    const short ready = wait_for(POLLIN | POLLOUT);
    if ((ready & POLLIN) != 0 && !receive()) return;
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN && (ready & POLLIN) != 0) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET || errno == EAGAIN)) return;
    system_call("write to " + name_, sent);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string Conversation::receive_line() {
  std::size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    if (receive()) continue;
    throw Error(fmt::format("{}: ended with {} instead of an answer", name_, child_.wait().describe()));
  }
  std::string answer = received_.substr(0, end);
  received_.erase(0, end + 1);
  return answer;
}

// Appends to `received_`. Returns false if the child has ended, or closed its end, and left nothing to read.
bool Conversation::receive() {
  wait_for(POLLIN);
  std::array<char, 65536> buffer{};
  ssize_t got = 0;
  do {
    got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == ECONNRESET)) return false;
  system_call("read from " + name_, got);
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Blocks until the socket is ready, or the child has ended: a process that it leaves behind may hold the
// socket open for ever. Returns what the socket is ready for.
short Conversation::wait_for(short events) const {
  std::array<pollfd, 2> waited{{{.fd = socket_.get(), .events = events, .revents = 0},
                                {.fd = child_.pidfd().get(), .events = POLLIN, .revents = 0}}};
  while (::poll(waited.data(), waited.size(), -1) < 0) {
    if (errno != EINTR) throw SystemError("wait for " + name_, errno);
  }
  return waited[0].revents;
}

}  // namespace thinpipe
