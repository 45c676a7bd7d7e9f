// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/probe.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

using Clock = std::chrono::steady_clock;

void send_all(const FileDescriptor& socket, std::size_t bytes, const std::string& attempt) {
  const std::vector<char> block(std::min<std::size_t>(bytes, 1 << 20));
  while (bytes > 0) {
    const ssize_t sent = uninterrupted(
        [&] { return ::send(socket.get(), block.data(), std::min(bytes, block.size()), MSG_NOSIGNAL); });
    bytes -= static_cast<std::size_t>(system_call("send " + attempt, static_cast<long>(sent)));
  }
}

void receive_all(const FileDescriptor& socket, std::size_t bytes, const std::string& attempt) {
  std::vector<char> block(1 << 18);  // not written to: MSG_TRUNC discards the data and saves the copy
  while (bytes > 0) {
    const ssize_t got = uninterrupted(
        [&] { return ::recv(socket.get(), block.data(), std::min(bytes, block.size()), MSG_TRUNC); });
    if (got == 0) throw SystemError("receive " + attempt, ECONNRESET);
    bytes -= static_cast<std::size_t>(system_call("receive " + attempt, static_cast<long>(got)));
  }
}

void send_at_once(const FileDescriptor& socket) {
  const int on = 1;
  system_call("send small segments at once",
              ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

// One flow, with a thread for each end.
class Flow {
 public:
  Flow(std::string name, Connection connection, const GoodputOptions& options)
      : name_(std::move(name)), connection_(std::move(connection)), options_(options) {
    sender_ = std::jthread([this] { guarded(sender_failure_, [this] { send(); }); });
    receiver_ = std::jthread([this] { guarded(receiver_failure_, [this] { receive(); }); });
  }

  double finish() {
    receiver_.join();
    // Wakes a sender that is blocked on a full buffer.
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
      const ssize_t sent = uninterrupted(
          [&] { return ::send(connection_.client.get(), block.data(), block.size(), MSG_NOSIGNAL); });
      if (sent < 0 && !done_) throw SystemError("send from " + name_, errno);
    }
  }

  void receive() {
    std::vector<char> block(1 << 18);  // not written to: MSG_TRUNC discards the data and saves the copy
    const auto start = Clock::now();
    Clock::time_point measured_from{};
    double bytes = 0;
    while (true) {
      const ssize_t got = uninterrupted(
          [&] { return ::recv(connection_.server.get(), block.data(), block.size(), MSG_TRUNC); });
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

std::string congestion_control(const FileDescriptor& socket) {
  std::array<char, 32> name{};
  socklen_t length = name.size() - 1;
  system_call("read the congestion control of a socket",
              ::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length));
  return name.data();
}

unsigned largest_packet_bytes(const FileDescriptor& socket) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  system_call("read the largest packet of a socket",
              ::getsockopt(socket.get(), IPPROTO_IP, IP_MTU, &bytes, &length));
  return static_cast<unsigned>(bytes);
}

std::vector<double> measure_goodput(const std::vector<std::pair<const Host*, const Host*>>& pairs,
                                    const GoodputOptions& options) {
  std::vector<std::unique_ptr<Flow>> flows;
  flows.reserve(pairs.size());
  std::map<const Host*, Listener> listeners;
  std::vector<Connection> connections;
  for (const auto& [from, to] : pairs) {
    connections.push_back(listeners.try_emplace(to, *to).first->second.connect(*from));
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string name = fmt::format("{} to {}", pairs[i].first->name, pairs[i].second->name);
    flows.push_back(std::make_unique<Flow>(name, std::move(connections[i]), options));
  }
  std::vector<double> out;
  out.reserve(pairs.size());
  for (const auto& flow : flows) out.push_back(flow->finish());
  return out;
}

std::vector<double> measure_messages(const Host& from, const Host& to, const MessageOptions& options) {
  const std::string attempt = fmt::format("a message from {} to {}", from.name, to.name);
  const Connection connection = connect_hosts(from, to);
  send_at_once(connection.client);
  const auto bytes = static_cast<std::size_t>(options.bytes);
  // The first message warms the connection up and is not measured.
  std::vector<double> out;
  for (int i = 0; i <= options.count; ++i) {
    auto received = std::async(std::launch::async, [&] {
      receive_all(connection.server, bytes, attempt);
      return Clock::now();
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_s));
    const auto start = Clock::now();
    send_all(connection.client, bytes, attempt);
    const double took_s = std::chrono::duration<double>(received.get() - start).count();
    if (i > 0) out.push_back(took_s);
  }
  std::ranges::sort(out);
  return out;
}

std::vector<double> measure_round_trips(const Host& from, const Host& to, int count) {
  const std::string attempt = fmt::format("a byte between {} and {}", from.name, to.name);
  const Connection connection = connect_hosts(from, to);
  send_at_once(connection.client);
  send_at_once(connection.server);
  auto echoed = std::async(std::launch::async, [&] {
    for (int i = 0; i < count; ++i) {
      receive_all(connection.server, 1, attempt);
      send_all(connection.server, 1, attempt);
    }
  });
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    send_all(connection.client, 1, attempt);
    receive_all(connection.client, 1, attempt);
    out.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  echoed.get();
  std::ranges::sort(out);
  return out;
}

int measure_loss(const Host& from, const Host& to, const LossOptions& options) {
  const std::string attempt = fmt::format("datagrams from {} to {}", from.name, to.name);
  const Connection connection = connect_datagrams(from, to);
  limit_receive_time(connection.server, options.silence_s);
  auto arrived = std::async(std::launch::async, [&] {
    std::vector<char> datagram(65536);
    std::set<int> numbers;  // a set, since duplicates must not count
    while (static_cast<int>(numbers.size()) < options.count) {
      const ssize_t got =
          uninterrupted([&] { return ::recv(connection.server.get(), datagram.data(), datagram.size(), 0); });
      if (got < 0 && errno == EAGAIN) break;
      system_call("receive " + attempt, static_cast<long>(got));
      int number = 0;
      std::memcpy(&number, datagram.data(), sizeof number);
      numbers.insert(number);
    }
    return static_cast<int>(numbers.size());
  });
  std::vector<char> datagram(std::max(static_cast<std::size_t>(options.payload_bytes), sizeof(int)));
  const double period_s = 8 * static_cast<double>(datagram.size()) / options.rate_bit_per_s;
  const auto start = Clock::now();
  for (int i = 0; i < options.count; ++i) {
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(i * period_s)));
    std::memcpy(datagram.data(), &i, sizeof i);
    system_call("send " + attempt, static_cast<long>(uninterrupted([&] {
                  return ::send(connection.client.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL);
                })));
  }
  return options.count - arrived.get();
}

double jain_index(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(rates.size()) * squares);
}

double ideal_message_s(double bytes, double rate_bit_per_s, const Frame& frame) {
  return 8 * bytes / frame.goodput_of_cap() / rate_bit_per_s;
}

}  // namespace thinpipe::netem
