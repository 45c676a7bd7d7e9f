#include "netem/probe.hh"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "harness/support/exception.hh"

namespace thinpipe::netem {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr* generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

sockaddr_in address_of(const Host& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  system_call("read the address " + host.address,
              ::inet_pton(AF_INET, host.address.c_str(), &address.sin_addr) == 1 ? 0 : -1);
  return address;
}

// A TCP socket in the host, with calls that give up after 5 s.
FileDescriptor open_socket(const Host& host) {
  FileDescriptor socket;
  const auto open = [&] {
    socket = FileDescriptor(
        system_call("open a socket in " + host.name, ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  };
  if (host.network_namespace) {
    host.network_namespace->run(open);
  } else {
    open();
  }
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    system_call("set a time limit", ::setsockopt(socket.get(), SOL_SOCKET, option, &limit, sizeof limit));
  }
  return socket;
}

// One flow, each end driven by a thread of its own.
class Flow {
 public:
  Flow(const Host& from, const Host& to, const GoodputOptions& options)
      : name_(fmt::format("{} to {}", from.name, to.name)),
        connection_(connect_hosts(from, to)),
        options_(options) {
    sender_ = std::jthread([this] { guarded(sender_failure_, [this] { send(); }); });
    receiver_ = std::jthread([this] { guarded(receiver_failure_, [this] { receive(); }); });
  }

  double finish() {
    receiver_.join();
    // Wakes a sender that waits for room.
    ::shutdown(connection_.client.get(), SHUT_RDWR);
    sender_.join();
    if (receiver_failure_) std::rethrow_exception(receiver_failure_);
    if (sender_failure_) std::rethrow_exception(sender_failure_);
    return bit_per_s_;
  }

 private:
  static void guarded(std::exception_ptr& failure, const auto& work) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }

  void send() {
    const std::vector<char> block(65536);
    while (!done_) {
      const ssize_t sent = ::send(connection_.client.get(), block.data(), block.size(), MSG_NOSIGNAL);
      if (sent < 0 && !done_) throw SystemError("send from " + name_, errno);
    }
  }

  void receive() {
    std::vector<char> block(1 << 18);  // not written to: MSG_TRUNC drops what arrived and saves the copy
    const auto start = Clock::now();
    Clock::time_point measured_from{};
    double bytes = 0;
    while (true) {
      const ssize_t got = ::recv(connection_.server.get(), block.data(), block.size(), MSG_TRUNC);
      if (got <= 0) {
        done_ = true;
        throw SystemError("receive from " + name_, got == 0 ? ECONNRESET : errno);
      }
      const auto now = Clock::now();
      const double running_s = std::chrono::duration<double>(now - start).count();
      if (measured_from == Clock::time_point{}) {
        if (running_s >= options_.settle_s) measured_from = now;
        continue;
      }
      bytes += static_cast<double>(got);
      if (running_s >= options_.settle_s + options_.measure_s) {
        bit_per_s_ = 8 * bytes / std::chrono::duration<double>(now - measured_from).count();
        done_ = true;
        return;
      }
    }
  }

  std::string name_;
  Connection connection_;
  GoodputOptions options_;
  std::atomic<bool> done_ = false;
  double bit_per_s_ = 0;
  std::exception_ptr sender_failure_;
  std::exception_ptr receiver_failure_;
  std::jthread sender_;
  std::jthread receiver_;
};

}  // namespace

Connection connect_hosts(const Host& from, const Host& to) {
  const std::string attempt = fmt::format("connect {} to {}", from.name, to.name);
  const FileDescriptor listener = open_socket(to);
  sockaddr_in address = address_of(to);
  system_call(attempt + " (bind)", ::bind(listener.get(), generic(address), sizeof address));
  system_call(attempt + " (listen)", ::listen(listener.get(), 1));
  socklen_t length = sizeof address;
  system_call(attempt + " (find the port)", ::getsockname(listener.get(), generic(address), &length));
  Connection connection;
  connection.client = open_socket(from);
  system_call(attempt, ::connect(connection.client.get(), generic(address), sizeof address));
  connection.server = FileDescriptor(
      system_call(attempt + " (accept)", ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  return connection;
}

std::string congestion_control(const FileDescriptor& socket) {
  std::array<char, 32> name{};
  socklen_t length = name.size() - 1;
  system_call("read the congestion control of a socket",
              ::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length));
  return name.data();
}

std::vector<double> measure_goodput(const std::vector<std::pair<const Host*, const Host*>>& pairs,
                                    const GoodputOptions& options) {
  std::vector<std::unique_ptr<Flow>> flows;
  flows.reserve(pairs.size());
  for (const auto& [from, to] : pairs) flows.push_back(std::make_unique<Flow>(*from, *to, options));
  std::vector<double> out;
  out.reserve(pairs.size());
  for (const auto& flow : flows) out.push_back(flow->finish());
  return out;
}

}  // namespace thinpipe::netem
