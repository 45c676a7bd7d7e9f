// SPDX-License-Identifier: Apache-2.0
// Owners for libnl's objects, exceptions for its errors that name the attempt, and readers of attributes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/route.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {

// A netlink request failed: "create bridge left: Operation not permitted".
class NetlinkError : public Error {
 public:
  NetlinkError(std::string_view attempt, int code);
  // libnl's code, negative: -NLE_OBJ_NOTFOUND and so on.
  int code() const { return code_; }

 private:
  int code_;
};

// Returns `result`. Throws NetlinkError if it is negative.
int netlink_call(std::string_view attempt, int result);

// A deleter that calls libnl's release function for the object's type.
template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};

template <class T, auto release>
using Owned = std::unique_ptr<T, Release<release>>;

using OwnedSocket = Owned<nl_sock, nl_socket_free>;
using OwnedLink = Owned<rtnl_link, rtnl_link_put>;
using OwnedQdisc = Owned<rtnl_qdisc, rtnl_qdisc_put>;
using OwnedRoute = Owned<rtnl_route, rtnl_route_put>;
using OwnedAddress = Owned<rtnl_addr, rtnl_addr_put>;
using OwnedNeighbour = Owned<rtnl_neigh, rtnl_neigh_put>;
using OwnedCache = Owned<nl_cache, nl_cache_free>;
using OwnedMessage = Owned<nl_msg, nlmsg_free>;
using OwnedBytes = Owned<nl_addr, nl_addr_put>;  // a network or link-layer address

// Takes ownership of a new object. Throws NetlinkError if it is null: its allocation failed.
template <class Handle, class T>
Handle own(T* object) {
  netlink_call("allocate a netlink object", object == nullptr ? -NLE_NOMEM : 0);
  return Handle(object);
}

// Appends the message to requests in the form that NetlinkSocket::send_together takes.
void append_request(std::vector<char>& requests, const OwnedMessage& message);

// A route netlink socket. It stays in the network namespace in which it was created.
class NetlinkSocket {
 public:
  NetlinkSocket();

  nl_sock* get() const { return socket_.get(); }

  // Sends the request and waits for the kernel's answer. Throws NetlinkError if the kernel refuses it.
  void send(std::string_view attempt, const OwnedMessage& message) const;

  // Sends concatenated requests (each an nlmsghdr and payload, padded to 4 bytes), many per system call, with
  // one answer for each system call. Throws NetlinkError at the first that the kernel refuses.
  void send_together(std::string_view attempt, std::vector<char> requests) const;

 private:
  OwnedSocket socket_;
};

// Returns the message that `build`, one of libnl's rtnl_*_build_*_request functions, makes from `arguments`.
template <class Build, class... Arguments>
OwnedMessage build_message(std::string_view attempt, Build build, Arguments... arguments) {
  nl_msg* message = nullptr;
  netlink_call(attempt, build(arguments..., &message));
  return OwnedMessage(message);
}

// Returns the number in the attribute, 0 if it is absent.
std::uint32_t number_in(nlattr* attribute);

// Returns a copy of the struct in the attribute. Older kernels send shorter ones.
template <class T>
T struct_in(nlattr* attribute) {
  T out{};
  if (attribute == nullptr) return out;
  std::memcpy(&out, nla_data(attribute), std::min(sizeof out, static_cast<std::size_t>(nla_len(attribute))));
  return out;
}

// Returns the attributes in a nest by their type; those of an absent nest are absent.
template <std::size_t count>
std::array<nlattr*, count> attributes_in(nlattr* nest) {
  std::array<nlattr*, count> out{};
  if (nest != nullptr) nla_parse_nested(out.data(), count - 1, nest, nullptr);
  return out;
}

// Parses an address such as "10.77.0.1/16". Throws NetlinkError.
OwnedBytes parse_address(const std::string& text, int family);

}  // namespace thinpipe::netem
