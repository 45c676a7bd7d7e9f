// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/local_address.hh"

#include <cerrno>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

FileDescriptor bind_to(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(address.c_str(), nullptr, &hints, &found);
  if (result != 0) throw Error("look up address " + address + ": " + gai_strerror(result));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  int error_number = 0;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    FileDescriptor fd(socket(candidate->ai_family, candidate->ai_socktype | SOCK_CLOEXEC, 0));
    if (fd && bind(fd.get(), candidate->ai_addr, candidate->ai_addrlen) == 0) return fd;
    error_number = errno;
  }
  throw SystemError("bind to " + address, error_number);
}

}  // namespace thinpipe::trainer
