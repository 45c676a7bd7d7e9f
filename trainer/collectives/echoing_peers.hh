// SPDX-License-Identifier: Apache-2.0
// The collectives of one worker whose peers all send copies of its messages. The worker encodes its own
// message and decodes those of all workers, with no other worker on the CPU. Sums are those of equal workers.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/collectives/scaled_block.hh"

namespace thinpipe::trainer {

class EchoingPeers : public Collective {
 public:
  explicit EchoingPeers(int world_size) : world_size_(world_size) {}

  int rank() const override { return 0; }
  int world_size() const override { return world_size_; }

  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    if (reduction == Reduction::sum) tensor.mul_(world_size_);
    if (reduction != Reduction::scaled_sum) return;
    const torch::Tensor copy = tensor.clone();
    const std::vector<const void*> peers(static_cast<std::size_t>(world_size_ - 1), copy.data_ptr());
    sum_scaled_blocks(tensor.data_ptr(), peers, tensor.nbytes() / sizeof(ScaledBlock));
  }

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> /*counts*/) override {
    return input.repeat({world_size_});
  }

  // Each peer sends this worker's part for itself or, if this worker sends to one other worker only, its
  // whole input.
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    std::vector<torch::Tensor> received;
    for (const std::int64_t count : receive_counts) {
      if (count != send_counts[0] && count != input.numel()) {
        throw CollectiveError("the echo differs in size from the message");
      }
      received.push_back(input.narrow(0, 0, count));
    }
    return torch::cat(received);
  }

  // Another root's tensor stays unchanged.
  void broadcast(torch::Tensor /*tensor*/, int /*root*/) override {}

  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t /*message_bytes*/) override {
    throw CollectiveError("an echo does not support point-to-point messages");
  }

  void barrier() override {}

 private:
  int world_size_;
};

}  // namespace thinpipe::trainer
