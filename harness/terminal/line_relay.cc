// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/line_relay.hh"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

constexpr int reads_per_turn = 4;
constexpr std::size_t read_bytes = std::size_t{1} << 16;

}  // namespace

LineRelay::LineRelay(FileDescriptor source, std::string prefix, std::FILE* target)
    : source_(std::move(source)), prefix_(std::move(prefix)), target_(target) {
  system_call("make a pipe non-blocking", ::fcntl(source_.get(), F_SETFL, O_NONBLOCK));
}

void LineRelay::relay() {
  for (int i = 0; i < reads_per_turn && source_; ++i) {
    if (read_some() == 0) return;
  }
}

void LineRelay::finish() {
  if (!source_) return;
  int arrived = 0;
  if (::ioctl(source_.get(), FIONREAD, &arrived) < 0) arrived = 0;
  for (auto left = static_cast<std::ptrdiff_t>(arrived); left > 0 && source_;) {
    const std::size_t read = read_some();
    if (read == 0) break;
    left -= static_cast<std::ptrdiff_t>(read);
  }
  print_lines(true);
  source_.reset();
}

std::size_t LineRelay::read_some() {
  std::array<char, read_bytes> buffer;  // NOLINT(*-member-init): read() fills it
  ssize_t got = 0;
  do {
    got = ::read(source_.get(), buffer.data(), buffer.size());
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    unprinted_.append(buffer.data(), static_cast<std::size_t>(got));
    print_lines(false);
    return static_cast<std::size_t>(got);
  }
  if (got < 0 && errno == EAGAIN) return 0;
  print_lines(true);
  source_.reset();
  return 0;
}

void LineRelay::print_lines(bool with_incomplete) {
  std::string out;
  std::size_t begin = 0;
  std::size_t end = scanned_;
  while ((end = unprinted_.find_first_of("\r\n", end)) != std::string::npos) {
    const bool returns = unprinted_[end] == '\r';
    const bool last = end + 1 == unprinted_.size();
    // Only the next byte shows whether this carriage return belongs to a line feed.
    if (returns && last && !with_incomplete) break;
    const bool both = returns && !last && unprinted_[end + 1] == '\n';
    // Progress bars begin with a carriage return, which ends nothing.
    if (!returns || both || end > begin) append_line(out, begin, end);
    begin = end = end + (both ? 2 : 1);
  }
  if (end == std::string::npos) end = unprinted_.size();
  if (end > begin && (with_incomplete || end - begin >= max_line_bytes)) {
    append_line(out, begin, end);
    begin = end;
  }
  scanned_ = end - begin;
  unprinted_.erase(0, begin);
  if (out.empty()) return;
  std::fwrite(out.data(), 1, out.size(), target_);
  std::fflush(target_);
}

void LineRelay::append_line(std::string& out, std::size_t begin, std::size_t end) const {
  out += prefix_;
  out.append(unprinted_, begin, end - begin);
  out += '\n';
}

}  // namespace thinpipe
