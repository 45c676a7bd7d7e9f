// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/netlink.hh"

#include <cerrno>

#include <fmt/format.h>

namespace thinpipe::netem {
namespace {

// Well below libnl's default send buffer of 32 KiB.
constexpr std::size_t largest_batch_bytes = 16384;

}  // namespace

NetlinkError::NetlinkError(std::string_view attempt, int code)
    : Error(fmt::format("{}: {}", attempt, nl_geterror(code))), code_(code) {}

int netlink_call(std::string_view attempt, int result) {
  if (result < 0) throw NetlinkError(attempt, result);
  return result;
}

void append_request(std::vector<char>& requests, const OwnedMessage& message) {
  const auto* const header = nlmsg_hdr(message.get());
  const auto* const bytes = reinterpret_cast<const char*>(header);
  requests.insert(requests.end(), bytes, bytes + header->nlmsg_len);
  requests.resize(NLMSG_ALIGN(requests.size()));
}

std::uint32_t number_in(nlattr* attribute) {
  return attribute == nullptr ? 0 : nla_get_u32(attribute);
}

NetlinkSocket::NetlinkSocket() : socket_(own<OwnedSocket>(nl_socket_alloc())) {
  constexpr const char* attempt = "open a netlink socket";
  errno = 0;
  const int result = nl_connect(socket_.get(), NETLINK_ROUTE);
  // libnl has no code of its own for "Too many open files". For other failures, such as no free port, errno
  // may be left over.
  if (result < 0 && (errno == EMFILE || errno == ENFILE)) throw SystemError(attempt, errno);
  netlink_call(attempt, result);
}

void NetlinkSocket::send(std::string_view attempt, const OwnedMessage& message) const {
  netlink_call(attempt, nl_send_auto(socket_.get(), message.get()));
  netlink_call(attempt, nl_wait_for_ack(socket_.get()));
}

void NetlinkSocket::send_together(std::string_view attempt, std::vector<char> requests) const {
  for (std::size_t begin = 0; begin < requests.size();) {
    const unsigned sequence = nl_socket_use_seq(socket_.get());
    nlmsghdr* last = nullptr;
    std::size_t end = begin;
    while (end < requests.size() && end - begin < largest_batch_bytes) {
      last = reinterpret_cast<nlmsghdr*>(requests.data() + end);
      last->nlmsg_seq = sequence;
      last->nlmsg_pid = nl_socket_get_local_port(socket_.get());
      last->nlmsg_flags |= NLM_F_REQUEST;
      end += NLMSG_ALIGN(last->nlmsg_len);
    }
    // The kernel answers only the requests that it refuses, and this last one.
    last->nlmsg_flags |= NLM_F_ACK;
    netlink_call(attempt, nl_sendto(socket_.get(), requests.data() + begin, end - begin));
    netlink_call(attempt, nl_wait_for_ack(socket_.get()));
    begin = end;
  }
}

OwnedBytes parse_address(const std::string& text, int family) {
  nl_addr* address = nullptr;
  netlink_call("read the address " + text, nl_addr_parse(text.c_str(), family, &address));
  return OwnedBytes(address);
}

}  // namespace thinpipe::netem
