// SPDX-License-Identifier: Apache-2.0
// A Collective owned by someone else, wrapped for the meter to own.
#pragma once

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class Borrowed : public Collective {
 public:
  explicit Borrowed(Collective& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  bool takes(const torch::Device& device) const override { return inner_.takes(device); }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    inner_.all_reduce(tensor, reduction);
  }
  void all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) override {
    inner_.all_reduce_quantised(codes, largest, chunks);
  }
  double all_reduce_sent_bytes(std::int64_t bytes) const override {
    return inner_.all_reduce_sent_bytes(bytes);
  }
  double all_reduce_quantised_sent_bytes(std::int64_t codes, int largest) const override {
    return inner_.all_reduce_quantised_sent_bytes(codes, largest);
  }
  bool has_sparse_all_reduce() const override { return inner_.has_sparse_all_reduce(); }
  std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                           std::span<const std::uint32_t> indices) override {
    return inner_.sparse_all_reduce(tensor, indices);
  }
  void replay_sparse_all_reduce(const SparseAllReduceCall& call) override {
    inner_.replay_sparse_all_reduce(call);
  }
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    return inner_.all_gather_v(input, counts);
  }
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    return inner_.all_to_all_v(input, send_counts, receive_counts);
  }
  void broadcast(torch::Tensor tensor, int root) override { inner_.broadcast(tensor, root); }
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override {
    return inner_.open_point_to_point(message_bytes);
  }
  void barrier() override { inner_.barrier(); }

 private:
  Collective& inner_;
};

}  // namespace thinpipe::trainer
