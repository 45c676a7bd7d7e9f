// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/tcp_sockets.hh"

#include <array>
#include <cstddef>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

namespace thinpipe::netem {
namespace {

// The kernel's struct tcp_info up to what is read here. <linux/tcp.h> does not go with <netinet/tcp.h>, which libnl includes and
// whose structure is shorter.
struct KernelTcpInfo {
  std::uint8_t state, ca_state, retransmits, probes, backoff, options, scales, flags;
  std::uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
  std::uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
  std::uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
  std::uint32_t rcv_rtt, rcv_space, total_retrans;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  std::uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
  std::uint64_t delivery_rate;
};
static_assert(offsetof(KernelTcpInfo, total_retrans) == 100 && offsetof(KernelTcpInfo, delivery_rate) == 160,
              "as in linux/tcp.h");

constexpr double us = 1e-6;
constexpr const char* attempt = "read the state of TCP sockets";
constexpr int closures_buffer_bytes = 1 << 20;

// All but listening sockets, those that are not yet connected, and those that only wait for stray segments.
constexpr std::uint32_t states_with_data = 1U << TCP_ESTABLISHED | 1U << TCP_FIN_WAIT1 | 1U << TCP_FIN_WAIT2 |
                                           1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK | 1U << TCP_CLOSING;

// Returns the address in IPv4's notation also if it is ::ffff:a.b.c.d: a socket of IPv6 that is connected
// over IPv4.
std::string address_text(int family, const __be32* address) {
  const bool is_mapped =
      family == AF_INET6 && address[0] == 0 && address[1] == 0 && address[2] == htonl(0xffff);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_mapped) {
    ::inet_ntop(AF_INET, address + 3, text.data(), text.size());
  } else {
    ::inet_ntop(family, address, text.data(), text.size());
  }
  return text.data();
}

// Appends the socket of an answer; libnl calls it for each.
int take_answer(nl_msg* message, void* sockets) {
  nlmsghdr* const header = nlmsg_hdr(message);
  const auto* const answer = static_cast<const inet_diag_msg*>(nlmsg_data(header));
  nlattr* const attribute = nlmsg_find_attr(header, sizeof *answer, INET_DIAG_INFO);
  if (attribute == nullptr) return NL_OK;
  const auto info = struct_in<KernelTcpInfo>(attribute);
  static_cast<std::vector<TcpSocket>*>(sockets)->push_back(
      {.local_address = address_text(answer->idiag_family, answer->id.idiag_src),
       .local_port = ntohs(answer->id.idiag_sport),
       .remote_address = address_text(answer->idiag_family, answer->id.idiag_dst),
       .remote_port = ntohs(answer->id.idiag_dport),
       .acknowledged_bytes = info.bytes_acked,
       .retransmitted_segments = info.total_retrans,
       .round_trip_s = us * info.rtt,
       .min_round_trip_s = us * info.min_rtt,
       .congestion_window_bytes = static_cast<double>(info.snd_cwnd) * info.snd_mss,
       .delivery_rate_bit_per_s = 8.0 * static_cast<double>(info.delivery_rate)});
  return NL_OK;
}

}  // namespace

TcpSockets::TcpSockets()
    : requests_(own<OwnedSocket>(nl_socket_alloc())), closures_(own<OwnedSocket>(nl_socket_alloc())) {
  netlink_call(attempt, nl_connect(requests_.get(), NETLINK_SOCK_DIAG));
  nl_socket_disable_seq_check(closures_.get());  // nobody asked for them one by one
  netlink_call(attempt, nl_connect(closures_.get(), NETLINK_SOCK_DIAG));
  netlink_call(attempt, nl_socket_set_buffer_size(closures_.get(), closures_buffer_bytes, 0));
  netlink_call(attempt, nl_socket_set_nonblocking(closures_.get()));
  for (const int group : {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY})
    netlink_call(attempt, nl_socket_add_membership(closures_.get(), group));
}

std::vector<TcpSocket> TcpSockets::open() const {
  std::vector<TcpSocket> out;
  netlink_call(attempt, nl_socket_modify_cb(requests_.get(), NL_CB_VALID, NL_CB_CUSTOM, take_answer, &out));
  for (const int family : {AF_INET, AF_INET6}) {
    inet_diag_req_v2 request{};
    request.sdiag_family = static_cast<std::uint8_t>(family);
    request.sdiag_protocol = IPPROTO_TCP;
    request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
    request.idiag_states = states_with_data;
    netlink_call(attempt,
                 nl_send_simple(requests_.get(), SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &request, sizeof request));
    netlink_call(attempt, nl_recvmsgs_default(requests_.get()));
  }
  return out;
}

std::vector<TcpSocket> TcpSockets::closed() const {
  std::vector<TcpSocket> out;
  netlink_call(attempt, nl_socket_modify_cb(closures_.get(), NL_CB_VALID, NL_CB_CUSTOM, take_answer, &out));
  while (true) {
    const int result = nl_recvmsgs_default(closures_.get());
    if (result == -NLE_AGAIN) return out;
    if (result != -NLE_NOMEM) netlink_call(attempt, result);  // NOMEM: some were dropped, and more follow
  }
}

}  // namespace thinpipe::netem
