// SPDX-License-Identifier: Apache-2.0
#include "netem/cross_traffic/cross_traffic.hh"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

#include <fmt/format.h>
#include <linux/tcp.h>  // instead of netinet/tcp.h, whose tcp_info is shorter
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "netem/kernel/host_sockets.hh"
#include "netem/topology/frame.hh"

namespace thinpipe::netem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto pacing_period = std::chrono::milliseconds(1);
constexpr auto answering_period = std::chrono::seconds(1);
constexpr double headers_of_datagram = 14 + 20 + 8;  // Ethernet, IP and UDP
constexpr double headers_of_segment = full_frame_bytes - full_frame_payload_bytes;
constexpr double longest_backlog_s = 0.1;  // what a sender that was not scheduled catches up with
constexpr double poll_s = 0.05;            // how often a waiting thread looks whether it must end

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool must_wait() {
  return errno == EAGAIN || errno == EINTR;
}

bool is_lost_in_host() {
  return errno == ENOBUFS || errno == EHOSTUNREACH || errno == ENETUNREACH || errno == ENETDOWN;
}

tcp_info tcp_info_of(const FileDescriptor& socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  system_call("read a connection's counters",
              ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length));
  return info;
}

}  // namespace

class CrossTraffic::Flow {
 public:
  Flow(const Network& network, const CrossFlow& flow)
      : flow_(flow),
        frame_bytes_(network.topology().frame.bytes()),
        name_(fmt::format("cross traffic from {} to {}", flow.from, flow.to)),
        sockets_((flow.rate_bit_per_s ? connect_datagrams : connect_hosts)(network.host(flow.from),
                                                                           network.host(flow.to))) {
    limit_receive_time(sockets_.server, poll_s);
  }

  void begin() {
    start_ = Clock::now();
    receiver_ = std::jthread([this] { guarded(receiver_failure_, [this] { receive(); }); });
    sender_ = std::jthread([this] {
      guarded(sender_failure_, [this] { flow_.rate_bit_per_s ? send_datagrams() : send_bulk(); });
    });
  }

  void stop() {
    stopping_ = true;
    for (std::jthread* thread : {&sender_, &receiver_}) {
      if (thread->joinable()) thread->join();
    }
  }

  void rethrow_failure() const {
    for (const std::exception_ptr& failure : {sender_failure_, receiver_failure_}) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  CrossFlowBytes bytes() const { return {.sent = sent_, .received = received_}; }

 private:
  void guarded(std::exception_ptr& failure, const auto& work) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }

  // A datagram that finds its host's queue full, or the link down, is lost there, as in a switch.
  void send_datagrams() {
    const std::vector<char> datagram(static_cast<std::size_t>(frame_bytes_ - headers_of_datagram));
    const double datagrams_per_s = *flow_.rate_bit_per_s / (8 * frame_bytes_);
    double due_before = 0;
    for (auto wake = start_; !stopping_; wake = std::max(wake + pacing_period, Clock::now())) {
      std::this_thread::sleep_until(wake);
      const double due = flow_.sending_s(seconds_since(start_)) * datagrams_per_s;
      // At low rates a single datagram takes longer than the longest backlog.
      due_before = std::max(due_before, due - std::max(1.0, longest_backlog_s * datagrams_per_s));
      for (; due_before + 1 <= due; ++due_before) {
        const ssize_t sent =
            ::send(sockets_.client.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
          sent_ += frame_bytes_;
        } else if (!must_wait() && !is_lost_in_host()) {
          throw SystemError("send " + name_, errno);
        }
      }
    }
  }

  void send_bulk() {
    limit_unsent_bytes();
    const std::vector<char> block(65536);
    while (!stopping_) {
      const bool is_on = flow_.is_on(seconds_since(start_));
      const ssize_t sent =
          is_on ? ::send(sockets_.client.get(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
      if (sent < 0 && !must_wait()) throw SystemError("send " + name_, errno);
      if (sent <= 0) std::this_thread::sleep_for(pacing_period);
    }
    const tcp_info info = tcp_info_of(sockets_.client);
    sent_ = static_cast<double>(info.tcpi_bytes_sent) + headers_of_segment * info.tcpi_segs_out;
  }

  // Otherwise a pause would begin with the megabytes that wait in the socket.
  void limit_unsent_bytes() {
    const int bytes = 65536;
    system_call("limit the unsent bytes of " + name_,
                ::setsockopt(sockets_.client.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes));
  }

  void receive() {
    std::vector<char> block(1 << 18);  // not written to: MSG_TRUNC discards the data and saves the copy
    sockaddr_storage sender{};
    socklen_t length = 0;
    for (auto answered = start_ - answering_period; !stopping_;) {
      length = sizeof sender;
      const ssize_t got = ::recvfrom(sockets_.server.get(), block.data(), block.size(), MSG_TRUNC,
                                     reinterpret_cast<sockaddr*>(&sender), &length);
      if (got < 0 && !must_wait()) throw SystemError("receive " + name_, errno);
      if (got <= 0) continue;
      received_ += static_cast<double>(got);
      if (!flow_.rate_bit_per_s || Clock::now() - answered < answering_period) continue;
      answer(sender, length);
      answered = Clock::now();
    }
  }

  // Bridges forget a host that is silent for minutes, or whose link was down, and then flood all links with its frames.
  void answer(const sockaddr_storage& sender, socklen_t length) {
    const char nothing = 0;
    const ssize_t sent = ::sendto(sockets_.server.get(), &nothing, 1, MSG_NOSIGNAL | MSG_DONTWAIT,
                                  reinterpret_cast<const sockaddr*>(&sender), length);
    if (sent < 0 && !must_wait() && !is_lost_in_host()) throw SystemError("answer " + name_, errno);
  }

  CrossFlow flow_;
  double frame_bytes_;
  std::string name_;
  Connection sockets_;
  Clock::time_point start_;
  std::atomic<bool> stopping_ = false;
  std::atomic<double> sent_ = 0;
  std::atomic<double> received_ = 0;
  std::exception_ptr sender_failure_;
  std::exception_ptr receiver_failure_;
  std::jthread receiver_;
  std::jthread sender_;
};

CrossTraffic::CrossTraffic(const Network& network, const std::vector<CrossFlow>& flows) {
  for (const CrossFlow& flow : flows) flows_.push_back(std::make_unique<Flow>(network, flow));
}

CrossTraffic::~CrossTraffic() {
  stop();
}

void CrossTraffic::stop() {
  for (const auto& flow : flows_) flow->stop();
}

void CrossTraffic::begin() {
  for (const auto& flow : flows_) flow->begin();
}

void CrossTraffic::end() {
  stop();
  for (const auto& flow : flows_) flow->rethrow_failure();
}

std::vector<CrossFlowBytes> CrossTraffic::bytes() const {
  std::vector<CrossFlowBytes> out;
  for (const auto& flow : flows_) out.push_back(flow->bytes());
  return out;
}

}  // namespace thinpipe::netem
