#include "netem/netlink.hh"

#include <fmt/format.h>

namespace thinpipe::netem {

NetlinkError::NetlinkError(std::string_view attempt, int code)
    : Error(fmt::format("{}: {}", attempt, nl_geterror(code))), code_(code) {}

int netlink_call(std::string_view attempt, int result) {
  if (result < 0) throw NetlinkError(attempt, result);
  return result;
}

NetlinkSocket::NetlinkSocket() : socket_(own<OwnedSocket>(nl_socket_alloc())) {
  // By errno: libnl has no code of its own for "Too many open files".
  system_call("open a netlink socket", nl_connect(socket_.get(), NETLINK_ROUTE) < 0 ? -1 : 0);
}

void NetlinkSocket::send(std::string_view attempt, const OwnedMessage& message) const {
  netlink_call(attempt, nl_send_auto(socket_.get(), message.get()));
  netlink_call(attempt, nl_wait_for_ack(socket_.get()));
}

OwnedBytes parse_address(const std::string& text, int family) {
  nl_addr* address = nullptr;
  netlink_call("read the address " + text, nl_addr_parse(text.c_str(), family, &address));
  return OwnedBytes(address);
}

}  // namespace thinpipe::netem
