// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo_context.hh"

#include <mutex>
#include <utility>

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#if __has_include(<gloo/transport/tcp/socket.h>)
#include <gloo/transport/tcp/error.h>
#include <gloo/transport/tcp/socket.h>
#endif
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

namespace tcp = gloo::transport::tcp;

// Gloo listens at this address, in vain: at the loopback interface, nobody on the network can connect.
constexpr const char* listening_address = "127.0.0.1";

#if __has_include(<gloo/transport/tcp/socket.h>)

// In newer versions, a device listens for all of its pairs, and hands each pair the socket that it waits for.
class AdoptedPair : public tcp::Pair {
 public:
  using tcp::Pair::Pair;

  void adopt(FileDescriptor socket) {
    connectCallback(std::make_shared<tcp::Socket>(socket.release()), tcp::Error());
  }
};

std::unique_ptr<tcp::Pair> adopt(tcp::Context* context, tcp::Device* device, int peer, FileDescriptor socket,
                                 std::chrono::milliseconds timeout) {
  auto pair = std::make_unique<AdoptedPair>(context, device, peer, timeout);
  pair->adopt(std::move(socket));
  return pair;
}

#else

constexpr int attempts_to_adopt = 10;

// In older versions, the constructor of a pair begins to listen, and this class ends that at once.
class AdoptedPair : public tcp::Pair {
 public:
  using tcp::Pair::Pair;

  // Takes the socket, unless another program of this machine has connected already. Returns whether it did.
  bool adopt(FileDescriptor& socket) {
    const std::lock_guard lock(m_);
    if (state_ != LISTENING) return false;
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = socket.release();
    handleConnected();
    return true;
  }
};

std::unique_ptr<tcp::Pair> adopt(tcp::Context* context, tcp::Device* device, int peer, FileDescriptor socket,
                                 std::chrono::milliseconds timeout) {
  for (int attempt = 0; attempt < attempts_to_adopt; ++attempt) {
    auto pair = std::make_unique<AdoptedPair>(context, device, peer, timeout);
    if (pair->adopt(socket)) return pair;
  }
  throw Error("connect Gloo: another program of this machine keeps connecting to it");
}

#endif

class AdoptingContext : public tcp::Context {
 public:
  using tcp::Context::Context;

  void adopt_socket(int peer, FileDescriptor socket) {
    pairs_.at(static_cast<std::size_t>(peer)) =
        adopt(this, device_.get(), peer, std::move(socket), getTimeout());
  }
};

class ConnectedContext : public gloo::Context {
 public:
  ConnectedContext(int rank, int world_size, std::map<int, FileDescriptor> sockets,
                   std::chrono::milliseconds timeout)
      : gloo::Context(rank, world_size) {
    tcp::attr attributes;
    attributes.hostname = listening_address;
    device_ = tcp::CreateDevice(attributes);
    const auto adopting =
        std::make_shared<AdoptingContext>(std::dynamic_pointer_cast<tcp::Device>(device_), rank, world_size);
    adopting->setTimeout(timeout);
    setTimeout(timeout);
    for (auto& [peer, socket] : sockets) adopting->adopt_socket(peer, std::move(socket));
    transportContext_ = adopting;
  }
};

}  // namespace

std::shared_ptr<gloo::Context> gloo_context_over(int rank, int world_size,
                                                 std::map<int, FileDescriptor> sockets,
                                                 std::chrono::milliseconds timeout) {
  return std::make_shared<ConnectedContext>(rank, world_size, std::move(sockets), timeout);
}

}  // namespace thinpipe::trainer
