#include "trainer/collectives/backends/gloo_mailbox.hh"

#include <deque>

#include <gloo/transport/unbound_buffer.h>

namespace thinpipe::trainer {
namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

class GlooMailbox : public Mailbox {
 public:
  GlooMailbox(std::shared_ptr<gloo::Context> context, std::int64_t message_bytes, std::uint64_t slot)
      : context_(std::move(context)), message_bytes_(message_bytes), slot_(slot) {
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank != context_->rank) others_.push_back(rank);
    }
    // A message is sent when its receiver has room for it. There is room for one message per worker, so that
    // no worker waits for another's message.
    for (std::size_t i = 0; i < others_.size(); ++i) make_room();
  }

  void send(int to, const torch::Tensor& message) override {
    Post post = over(message);
    post.buffer->send(to, slot_);
    sent_.push_back(std::move(post));
  }

  Letter receive() override {
    Post next = std::move(room_.front());
    room_.pop_front();
    Letter letter{.from = 0, .message = next.memory};
    next.buffer->waitRecv(&letter.from);
    make_room();
    return letter;
  }

  void close() override {
    for (const Post& post : sent_) post.buffer->waitSend();
    sent_.clear();
  }

 private:
  struct Post {
    torch::Tensor memory;
    Buffer buffer;
  };

  Post over(const torch::Tensor& memory) const {
    return {memory, context_->createUnboundBuffer(memory.data_ptr(), memory.nbytes())};
  }

  void make_room() {
    Post post = over(torch::empty({message_bytes_}, torch::kByte));
    post.buffer->recv(others_, slot_);
    room_.push_back(std::move(post));
  }

  std::shared_ptr<gloo::Context> context_;
  std::int64_t message_bytes_;
  std::uint64_t slot_;
  std::vector<int> others_;
  std::deque<Post> room_;
  std::vector<Post> sent_;
};

}  // namespace

std::unique_ptr<Mailbox> open_gloo_mailbox(std::shared_ptr<gloo::Context> context, std::int64_t message_bytes,
                                           std::uint64_t slot) {
  return std::make_unique<GlooMailbox>(std::move(context), message_bytes, slot);
}

}  // namespace thinpipe::trainer
