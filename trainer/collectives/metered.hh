// SPDX-License-Identifier: Apache-2.0
// Measures the traffic through a collective: payload bytes (as the caller passes them), sent bytes (this
// worker's, from the backend or by ring_formula.hh), delivered bytes (of the results), number of calls, and
// time. Splits the time around collectives into encode, exchange and decode.
//
// Not thread-safe: read the counts in the thread that calls the collectives, or in another thread after it
// has ended.
#pragma once

#include <functional>
#include <memory>

#include "common/protocol/call.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// Totals since construction.
struct Traffic {
  std::int64_t payload_bytes = 0;
  // Not a whole number if an all-reduce does not divide evenly among the workers.
  double sent_bytes = 0;
  std::int64_t delivered_bytes = 0;
  std::int64_t collectives = 0;
  Durations time = {};  // inside collectives, without producing and consuming chunks of codes
};

// One synchronisation, from begin_section() to end_section(). Encode, exchange and decode times add up to its
// duration.
struct Section {
  // Outside collectives, until the last one began, and producing chunks of codes. The whole duration if
  // there was no collective.
  double encode_s = 0;
  // Inside collectives, without producing and consuming chunks of codes.
  double exchange_s = 0;
  // After the last collective returned, and consuming sums of chunks.
  double decode_s = 0;
  // The part of encode_s after the first collective began.
  double between_collectives_s = 0;
  // This thread's CPU time in encode_s.
  double encode_cpu_s = 0;
  double between_collectives_cpu_s = 0;
  double decode_cpu_s = 0;
  // The part of decode_s while other chunks were in flight.
  double overlapped_decode_s = 0;
  double overlapped_decode_cpu_s = 0;
  std::int64_t payload_bytes = 0;
  double sent_bytes = 0;
  std::int64_t delivered_bytes = 0;
  std::int64_t collectives = 0;

  Section& operator+=(const Section& other) {
    encode_s += other.encode_s;
    between_collectives_s += other.between_collectives_s;
    exchange_s += other.exchange_s;
    decode_s += other.decode_s;
    encode_cpu_s += other.encode_cpu_s;
    between_collectives_cpu_s += other.between_collectives_cpu_s;
    decode_cpu_s += other.decode_cpu_s;
    overlapped_decode_s += other.overlapped_decode_s;
    overlapped_decode_cpu_s += other.overlapped_decode_cpu_s;
    payload_bytes += other.payload_bytes;
    sent_bytes += other.sent_bytes;
    delivered_bytes += other.delivered_bytes;
    collectives += other.collectives;
    return *this;
  }
};

// Payload bytes by call:
// - all_reduce and all_reduce_quantised: the tensor's bytes;
// - all_gather_v and all_to_all_v: the bytes of this worker's own input;
// - sparse_all_reduce: the encoded bytes of this worker's own entries;
// - broadcast: the tensor's bytes at the root, 0 elsewhere;
// - barrier: 0;
// - a PointToPoint object counts as one collective, with all bytes sent through it.
// Delivered bytes by call, 0 if there is only one worker:
// - all_reduce and all_reduce_quantised: the tensor's bytes;
// - all_gather_v and all_to_all_v: the bytes of the other workers' inputs that this worker gets;
// - sparse_all_reduce: the bytes from this worker's neighbours in the tree;
// - broadcast: the tensor's bytes, 0 at the root;
// - barrier: 0;
// - a PointToPoint object: the bytes of the tensors received through it, which may be padded.
// Failed calls are not counted.
class MeteredCollective : public Collective {
 public:
  explicit MeteredCollective(std::unique_ptr<Collective> inner);

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  bool takes(const torch::Device& device) const override { return inner_->takes(device); }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override;
  void all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) override;
  double all_reduce_sent_bytes(std::int64_t bytes) const override {
    return inner_->all_reduce_sent_bytes(bytes);
  }
  double all_reduce_quantised_sent_bytes(std::int64_t codes, int largest) const override {
    return inner_->all_reduce_quantised_sent_bytes(codes, largest);
  }
  bool has_sparse_all_reduce() const override { return inner_->has_sparse_all_reduce(); }
  std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                           std::span<const std::uint32_t> indices) override;
  void replay_sparse_all_reduce(const SparseAllReduceCall& call) override;
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override;
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override;
  void broadcast(torch::Tensor tensor, int root) override;
  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override;
  void barrier() override;

  // Returns the inner collective, for calls that are not the method's and are not counted.
  Collective& unmetered() { return *inner_; }

  // Receives each counted call after it has returned; for a PointToPoint object, when it is closed. May be
  // null.
  using Observer = std::function<void(CollectiveCall call)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  const Traffic& traffic() const { return traffic_; }

  void begin_section();
  // Returns the section since the latest begin_section().
  Section end_section() const;

 private:
  class MeteredPointToPoint;

  void count(const Stopwatch& stopwatch, const SparseAllReduceCall& call);
  void count(const Stopwatch& call, std::int64_t payload_bytes, double sent_bytes,
             std::int64_t delivered_bytes, std::int64_t collectives = 1);
  // Returns the bytes of an all-reduce's result that the other workers contributed to.
  std::int64_t delivered_by_all_reduce(std::int64_t bytes) const { return world_size() == 1 ? 0 : bytes; }
  // Wraps `chunk` to also add its duration to `time`.
  static CodeChunks::Function timed(const CodeChunks::Function& chunk, Durations& time);
  // make: creates the call, only if there is an observer.
  void notify(const auto& make) const {
    if (observer_) observer_(make());
  }

  std::unique_ptr<Collective> inner_;
  Observer observer_;
  Traffic traffic_;
  Traffic section_start_;
  Stopwatch section_;        // since the section began
  Durations first_began_;    // offset of the first collective's begin
  Durations last_returned_;  // offset of the last collective's end
  Durations consumed_;       // time consuming sums of chunks of codes
};

}  // namespace thinpipe::trainer
