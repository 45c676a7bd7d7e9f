// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo_context.hh"

#include <mutex>
#include <utility>

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

namespace tcp = gloo::transport::tcp;

// Gloo's constructor of a pair begins to listen, and this class ends that at once. It listens at the loopback interface, so
// nobody on the network could connect in between.
constexpr const char* listening_address = "127.0.0.1";
constexpr int attempts_to_adopt = 10;

class AdoptedPair : public tcp::Pair {
 public:
  AdoptedPair(tcp::Context* context, tcp::Device* device, int rank, std::chrono::milliseconds timeout)
      : tcp::Pair(context, device, rank, timeout) {}

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

class AdoptingContext : public tcp::Context {
 public:
  using tcp::Context::Context;

  void adopt(int peer, FileDescriptor socket) {
    for (int attempt = 0; attempt < attempts_to_adopt; ++attempt) {
      auto pair = std::make_unique<AdoptedPair>(this, device_.get(), peer, getTimeout());
      if (!pair->adopt(socket)) continue;
      pairs_.at(static_cast<std::size_t>(peer)) = std::move(pair);
      return;
    }
    throw Error("connect Gloo: another program of this machine keeps connecting to it");
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
    for (auto& [peer, socket] : sockets) adopting->adopt(peer, std::move(socket));
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
