// A Collective owned by someone else, wrapped for the meter to own.
#pragma once

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer::testing {

class Borrowed : public Collective {
 public:
  explicit Borrowed(Collective& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  bool takes(const torch::Device& device) const override { return inner_.takes(device); }
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    inner_.all_reduce(tensor, reduction);
  }
  void all_reduce_codes(torch::Tensor codes, int largest, const CodePieces& pieces) override {
    inner_.all_reduce_codes(codes, largest, pieces);
  }
  double all_reduce_sent_bytes(std::int64_t bytes) const override {
    return inner_.all_reduce_sent_bytes(bytes);
  }
  double code_sum_sent_bytes(std::int64_t codes, int largest) const override {
    return inner_.code_sum_sent_bytes(codes, largest);
  }
  bool sums_entries() const override { return inner_.sums_entries(); }
  std::vector<EdgeBytes> sum_entries(torch::Tensor tensor, std::span<const std::uint32_t> places) override {
    return inner_.sum_entries(tensor, places);
  }
  void repeat_entry_sum(const EntrySumCall& call) override { inner_.repeat_entry_sum(call); }
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    return inner_.all_gather_v(input, counts);
  }
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    return inner_.all_to_all_v(input, send_counts, receive_counts);
  }
  void broadcast(torch::Tensor tensor, int root) override { inner_.broadcast(tensor, root); }
  std::unique_ptr<Mailbox> open_mailbox(std::int64_t message_bytes) override {
    return inner_.open_mailbox(message_bytes);
  }
  void barrier() override { inner_.barrier(); }

 private:
  Collective& inner_;
};

}  // namespace thinpipe::trainer::testing
