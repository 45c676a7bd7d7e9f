// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/local_address.hh"

#include <cerrno>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// Returns no socket, and sets errno, if it cannot be bound.
FileDescriptor bound_to(const addrinfo& place, bool to_any_port) {
  FileDescriptor out(socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC, 0));
  // A chosen port with connections that are ending is free.
  const int on = to_any_port ? 0 : 1;
  if (out && (setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
              bind(out.get(), place.ai_addr, place.ai_addrlen) != 0))
    return {};
  return out;
}

}  // namespace

FileDescriptor bind_to(const std::string& address, const std::vector<std::uint16_t>& ports) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  int error_number = 0;
  for (const std::uint16_t port : ports.empty() ? std::vector<std::uint16_t>{0} : ports) {
    const std::string service = std::to_string(port);
    addrinfo* found = nullptr;
    const int result = getaddrinfo(address.c_str(), service.c_str(), &hints, &found);
    if (result != 0) throw Error("look up address " + address + ": " + gai_strerror(result));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
    for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
      if (FileDescriptor out = bound_to(*candidate, port == 0)) return out;
      error_number = errno;
    }
  }
  throw SystemError("bind to " + address, error_number);
}

}  // namespace thinpipe::trainer
