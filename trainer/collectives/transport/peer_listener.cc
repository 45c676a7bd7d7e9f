// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/peer_listener.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include "common/support/exception.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/transport/local_address.hh"
#include "trainer/collectives/transport/time_limits.hh"

namespace thinpipe::trainer {
namespace {

// Strangers must not use up the process's file descriptors, nor fill its log.
constexpr std::size_t max_unproved = 64;
constexpr int max_log_lines = 20;

std::string name_of(const sockaddr_storage& address, socklen_t bytes) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failed = getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host.data(), host.size(),
                                 port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return failed != 0 ? "an unknown address" : fmt::format("{}, port {}", host.data(), port.data());
}

// A connection that has not proved itself yet.
struct Unproved {
  FileDescriptor socket;
  std::string from;
  IncomingHello hello;
  Stopwatch waited = {};
};

// The state of one accept() call.
class Reception {
 public:
  Reception(const FileDescriptor& listener, const PeerProof& proof, std::vector<int> ranks,
            double hello_timeout_s)
      : listener_(listener), proof_(proof), awaited_(std::move(ranks)), hello_timeout_s_(hello_timeout_s) {}

  std::map<int, FileDescriptor> run(double timeout_s) {
    while (!awaited_.empty()) {
      if (since_last_.elapsed_s() > timeout_s)
        throw Error(fmt::format("wait for rank {} to connect: none did for {} s", fmt::join(awaited_, ", "),
                                timeout_s));
      wait(std::min(timeout_s - since_last_.elapsed_s(), hello_timeout_s_ / 4));
      accept_all();
      for (auto each = unproved_.begin(); each != unproved_.end();)
        each = is_settled(*each) ? unproved_.erase(each) : std::next(each);
    }
    return std::move(proved_);
  }

 private:
  void wait(double seconds) const {
    std::vector<pollfd> awaited = {{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Unproved& each : unproved_)
      awaited.push_back({.fd = each.socket.get(), .events = POLLIN, .revents = 0});
    if (poll(awaited.data(), awaited.size(), poll_milliseconds(seconds)) < 0 && errno != EINTR)
      throw SystemError("wait for workers to connect", errno);
  }

  void accept_all() {
    while (true) {
      sockaddr_storage address{};
      socklen_t bytes = sizeof address;
      FileDescriptor socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
      if (!socket && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (!socket) throw SystemError("accept a worker's connection", errno);
      if (unproved_.size() == max_unproved) {
        if (!is_settled(unproved_.front()))
          refuse(unproved_.front(), "too many others had not said who they are");
        unproved_.pop_front();
      }
      unproved_.push_back(
          {.socket = std::move(socket), .from = name_of(address, bytes), .hello = IncomingHello(proof_)});
    }
  }

  // Returns whether the connection has proved itself, or has been refused.
  bool is_settled(Unproved& each) {
    while (!each.hello.missing().empty()) {
      const std::span<std::byte> into = each.hello.missing();
      const ssize_t received = recv(each.socket.get(), into.data(), into.size(), 0);
      if (received < 0 && errno == EINTR) continue;
      if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return each.waited.elapsed_s() > hello_timeout_s_ && refuse(each, "it did not say who it is");
      }
      if (received <= 0) return refuse(each, "it left before it had said who it is");
      each.hello.arrived(static_cast<std::size_t>(received));
      if (each.hello.is_wrong()) return refuse(each, "it does not prove that it belongs to the run");
    }
    const std::uint32_t rank = each.hello.rank().value();
    const auto found =
        std::ranges::find_if(awaited_, [rank](int awaited) { return std::cmp_equal(awaited, rank); });
    if (found == awaited_.end()) return refuse(each, fmt::format("rank {} is not awaited", rank));
    const KeyedHash answer = each.hello.answer();
    // So few bytes always fit into the buffer of a new connection.
    if (send(each.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) != std::ssize(answer))
      return refuse(each, "it left before it had an answer");
    proved_.emplace(*found, std::move(each.socket));
    awaited_.erase(found);
    since_last_ = {};
    return true;
  }

  // Returns true.
  bool refuse(const Unproved& stranger, const std::string& why) {
    if (++refused_ <= max_log_lines) spdlog::warn("closed a connection from {}: {}", stranger.from, why);
    if (refused_ == max_log_lines) spdlog::warn("further connections are closed without a word");
    return true;
  }

  const FileDescriptor& listener_;
  const PeerProof& proof_;
  std::vector<int> awaited_;
  double hello_timeout_s_;
  Stopwatch since_last_;
  std::list<Unproved> unproved_;
  std::map<int, FileDescriptor> proved_;
  int refused_ = 0;
};

}  // namespace

PeerListener::PeerListener(const Options& options)
    : socket_(bind_to(options.address, options.ports)),
      notice_{.challenge = options.challenge ? *options.challenge : random_run_token()},
      proof_(options.secret, notice_.challenge),
      hello_timeout_s_(options.hello_timeout_s) {
  const std::string& address = options.address;
  if (listen(socket_.get(), SOMAXCONN) != 0) throw SystemError("listen at " + address, errno);
  const int flags = fcntl(socket_.get(), F_GETFL);
  if (flags < 0 || fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    throw SystemError("listen at " + address + " without blocking", errno);
  notice_.address_bytes = sizeof notice_.address;
  if (getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&notice_.address), &notice_.address_bytes) != 0)
    throw SystemError("get the port that the socket at " + address + " listens on", errno);
}

std::map<int, FileDescriptor> PeerListener::accept(std::vector<int> ranks, double timeout_s) const {
  return Reception(socket_, proof_, std::move(ranks), hello_timeout_s_).run(timeout_s);
}

}  // namespace thinpipe::trainer
