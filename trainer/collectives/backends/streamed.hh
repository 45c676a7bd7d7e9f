// SPDX-License-Identifier: Apache-2.0
// The common part of the streaming backends: their own connections to some workers, and Gloo for everything
// they do not stream.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/backends/gloo.hh"
#include "trainer/collectives/transport/peer.hh"

namespace thinpipe::trainer {

class StreamedCollective : public Collective {
 public:
  int rank() const override { return gloo_->rank(); }
  int world_size() const override { return gloo_->world_size(); }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override;
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override;
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override;
  void broadcast(torch::Tensor tensor, int root) override;
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override;
  void barrier() override;

 protected:
  // peers: the workers to connect to; they must name this worker too.
  StreamedCollective(const GlooOptions& options, const GroupOptions& group_options,
                     const std::vector<int>& peers);

  virtual void stream_all_reduce(const Reducible& vector) = 0;
  // bytes: as in tree_all_gather() and ring_all_gather() (pipelined.hh).
  virtual void stream_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes) = 0;

  static std::span<std::byte> bytes_of(const torch::Tensor& tensor) {
    return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
  }

  // Runs `operation`. Turns its exceptions into a CollectiveError that names `call`, and then closes the
  // connections, so that workers waiting for this one fail at once too.
  void attempt(const std::string& call, const std::function<void()>& operation);

  Collective& gloo() { return *gloo_; }
  Peer& peer(int rank) { return peers_.at(rank); }
  double timeout_s() const { return timeout_s_; }

 private:
  std::unique_ptr<Collective> gloo_;
  double timeout_s_;
  std::map<int, Peer> peers_;  // by rank
  std::string failure_;        // of an earlier call
};

}  // namespace thinpipe::trainer
