// The collectives of one worker of several whose peers all send what it sends: so that it encodes its own
// message and decodes everyone's, with no one else on the processor. Sums are what so many equal workers
// have.
#pragma once

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class EchoingPeers : public Collective {
 public:
  explicit EchoingPeers(int world_size) : world_size_(world_size) {}

  int rank() const override { return 0; }
  int world_size() const override { return world_size_; }

  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    if (reduction == Reduction::sum) tensor.mul_(world_size_);
  }

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> /*counts*/) override {
    return input.repeat({world_size_});
  }

  // From each peer, what this worker has for itself; or all of it, where it has something for one other only.
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    std::vector<torch::Tensor> received;
    for (const std::int64_t count : receive_counts) {
      if (count != send_counts[0] && count != input.numel()) {
        throw CollectiveError("an echo of another size than the message");
      }
      received.push_back(input.narrow(0, 0, count));
    }
    return torch::cat(received);
  }

  // Another's stays what it is here.
  void broadcast(torch::Tensor /*tensor*/, int /*root*/) override {}

  std::unique_ptr<Mailbox> open_mailbox(std::int64_t /*message_bytes*/) override {
    throw CollectiveError("an echo answers no letters");
  }

  void barrier() override {}

 private:
  int world_size_;
};

}  // namespace thinpipe::trainer
