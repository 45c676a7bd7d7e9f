// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo_point_to_point.hh"

#include <deque>

#include <gloo/transport/unbound_buffer.h>

namespace thinpipe::trainer {
namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

class GlooPointToPoint : public PointToPoint {
 public:
  GlooPointToPoint(std::shared_ptr<gloo::Context> context, std::int64_t message_bytes, std::uint64_t slot)
      : context_(std::move(context)), message_bytes_(message_bytes), slot_(slot) {
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank != context_->rank) others_.push_back(rank);
    }
    // A message is sent when its receiver has room for it. There is room for one message per worker, so that
    // no worker waits for another's message.
    for (std::size_t i = 0; i < others_.size(); ++i) make_room();
  }

  void send(int to, const torch::Tensor& message) override {
    Transfer transfer = over(message);
    transfer.buffer->send(to, slot_);
    sent_.push_back(std::move(transfer));
  }

  ReceivedMessage receive() override {
    Transfer next = std::move(posted_.front());
    posted_.pop_front();
    ReceivedMessage received{.from = 0, .message = next.memory};
    next.buffer->waitRecv(&received.from);
    make_room();
    return received;
  }

  void close() override {
    for (const Transfer& transfer : sent_) transfer.buffer->waitSend();
    sent_.clear();
  }

 private:
  struct Transfer {
    torch::Tensor memory;
    Buffer buffer;
  };

  Transfer over(const torch::Tensor& memory) const {
    return {memory, context_->createUnboundBuffer(memory.data_ptr(), memory.nbytes())};
  }

  void make_room() {
    Transfer transfer = over(torch::empty({message_bytes_}, torch::kByte));
    transfer.buffer->recv(others_, slot_);
    posted_.push_back(std::move(transfer));
  }

  std::shared_ptr<gloo::Context> context_;
  std::int64_t message_bytes_;
  std::uint64_t slot_;
  std::vector<int> others_;
  std::deque<Transfer> posted_;
  std::vector<Transfer> sent_;
};

}  // namespace

std::unique_ptr<PointToPoint> open_gloo_point_to_point(std::shared_ptr<gloo::Context> context,
                                                       std::int64_t message_bytes, std::uint64_t slot) {
  return std::make_unique<GlooPointToPoint>(std::move(context), message_bytes, slot);
}

}  // namespace thinpipe::trainer
