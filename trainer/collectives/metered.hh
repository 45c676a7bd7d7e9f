// Counts what goes through a collective: payload bytes as the caller hands them over, the bytes this worker
// sends as the backend says, or by ring_formula.hh, calls, and time. Splits the time around
// collectives into encode, exchange and decode.
//
// Not synchronised: the thread that calls the collectives reads the counts, or another one after it has
// ended.
#pragma once

#include <functional>
#include <memory>

#include "harness/replay/call.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/stopwatch.hh"

namespace thinpipe::trainer {

// Since construction.
struct Traffic {
  std::int64_t payload_bytes = 0;
  double sent_bytes = 0;  // not a whole number where an all-reduce does not divide evenly among the workers
  std::int64_t collectives = 0;
  Durations time = {};  // inside collectives, but for pieces of codes
};

// One synchronisation, from begin_section() to end_section(): the three times add up to the time between the
// two.
struct Section {
  double encode_s = 0;  // outside collectives, until the last one began; all of it where there was none; and
                        // pieces of codes being made
  double exchange_s = 0;          // inside collectives, but for pieces of codes
  double decode_s = 0;            // after the last collective returned, and sums of pieces being taken
  double between_s = 0;           // of encode_s, after the first collective had begun
  double encode_processor_s = 0;  // of this thread, in encode_s
  double between_processor_s = 0;
  double decode_processor_s = 0;
  double taking_s = 0;  // of decode_s, while other pieces were under way
  double taking_processor_s = 0;
  std::int64_t payload_bytes = 0;
  double sent_bytes = 0;
  std::int64_t collectives = 0;

  Section& operator+=(const Section& other) {
    encode_s += other.encode_s;
    between_s += other.between_s;
    exchange_s += other.exchange_s;
    decode_s += other.decode_s;
    encode_processor_s += other.encode_processor_s;
    between_processor_s += other.between_processor_s;
    decode_processor_s += other.decode_processor_s;
    taking_s += other.taking_s;
    taking_processor_s += other.taking_processor_s;
    payload_bytes += other.payload_bytes;
    sent_bytes += other.sent_bytes;
    collectives += other.collectives;
    return *this;
  }
};

// Payload bytes: all_reduce and all_reduce_codes, the tensor's; all_gather_v and all_to_all_v, this worker's
// own input's; sum_entries, what this worker's own entries take; broadcast, the tensor's at the root and 0
// elsewhere; barrier, 0; a mailbox is one collective, and all that is sent through it its payload. Calls that
// fail are not counted.
class MeteredCollective : public Collective {
 public:
  explicit MeteredCollective(std::unique_ptr<Collective> inner);

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  bool takes(const torch::Device& device) const override { return inner_->takes(device); }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override;
  void all_reduce_codes(torch::Tensor codes, int largest, const CodePieces& pieces) override;
  double all_reduce_sent_bytes(std::int64_t bytes) const override {
    return inner_->all_reduce_sent_bytes(bytes);
  }
  double code_sum_sent_bytes(std::int64_t codes, int largest) const override {
    return inner_->code_sum_sent_bytes(codes, largest);
  }
  bool sums_entries() const override { return inner_->sums_entries(); }
  std::vector<EdgeBytes> sum_entries(torch::Tensor tensor, std::span<const std::uint32_t> places) override;
  void repeat_entry_sum(const EntrySumCall& call) override;
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override;
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override;
  void broadcast(torch::Tensor tensor, int root) override;
  std::unique_ptr<Mailbox> open_mailbox(std::int64_t message_bytes) override;
  void barrier() override;

  // For what is not the method's: calls on it are not counted.
  Collective& unmetered() { return *inner_; }

  // Told of each call that is counted, once it has returned; of a mailbox, when it is closed. Null: nobody.
  using Listener = std::function<void(CollectiveCall call)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  const Traffic& traffic() const { return traffic_; }

  void begin_section();
  // Since the latest begin_section().
  Section end_section() const;

 private:
  class MeteredMailbox;

  void count(const Stopwatch& stopwatch, const EntrySumCall& call);
  void count(const Stopwatch& call, std::int64_t payload_bytes, double sent_bytes,
             std::int64_t collectives = 1);
  // The same that also adds to `time` what it takes.
  static CodePieces::Piece timed(const CodePieces::Piece& piece, Durations& time);
  // make: what the listener is told; only made where there is one.
  void tell(const auto& make) const {
    if (listener_) listener_(make());
  }

  std::unique_ptr<Collective> inner_;
  Listener listener_;
  Traffic traffic_;
  Traffic section_start_;
  Stopwatch section_;        // since it began
  Durations first_began_;    // of it, the first collective
  Durations last_returned_;  // and the last
  Durations taken_;          // of it, sums of pieces of codes being taken
};

}  // namespace thinpipe::trainer
