#include "trainer/collectives/metered.hh"

#include "trainer/collectives/element_type.hh"
#include "trainer/collectives/ring_formula.hh"

namespace thinpipe::trainer {

namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::int64_t byte_count(const torch::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
}

std::vector<std::int64_t> copy_of(std::span<const std::int64_t> counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

MeteredCollective::MeteredCollective(std::unique_ptr<Collective> inner) : inner_(std::move(inner)) {}

void MeteredCollective::all_reduce(torch::Tensor tensor, Reduction reduction) {
  const std::int64_t bytes = byte_count(tensor);
  const auto began = Clock::now();
  inner_->all_reduce(tensor, reduction);
  count(began, bytes, ring_all_reduce_sent_bytes(static_cast<double>(bytes), world_size()));
  tell([&] {
    return AllReduceCall{.type = element_type_of(tensor),
                         .elements = tensor.numel(),
                         .takes_maximum = reduction == Reduction::max};
  });
}

torch::Tensor MeteredCollective::all_gather_v(const torch::Tensor& input,
                                              std::span<const std::int64_t> counts) {
  const auto began = Clock::now();
  torch::Tensor gathered = inner_->all_gather_v(input, counts);
  const auto element_size = static_cast<std::int64_t>(input.element_size());
  count(began, byte_count(input),
        static_cast<double>(ring_all_gather_v_sent_bytes(counts, rank()) * element_size));
  tell([&] { return AllGatherCall{.type = element_type_of(input), .counts = copy_of(counts)}; });
  return gathered;
}

torch::Tensor MeteredCollective::all_to_all_v(const torch::Tensor& input,
                                              std::span<const std::int64_t> send_counts,
                                              std::span<const std::int64_t> receive_counts) {
  const auto began = Clock::now();
  torch::Tensor received = inner_->all_to_all_v(input, send_counts, receive_counts);
  const auto element_size = static_cast<std::int64_t>(input.element_size());
  count(began, byte_count(input), static_cast<double>((input.numel() - send_counts[rank()]) * element_size));
  tell([&] {
    return AllToAllCall{
        .type = element_type_of(input), .sent = copy_of(send_counts), .received = copy_of(receive_counts)};
  });
  return received;
}

void MeteredCollective::broadcast(torch::Tensor tensor, int root) {
  const std::int64_t bytes = byte_count(tensor);
  const auto began = Clock::now();
  inner_->broadcast(tensor, root);
  count(began, rank() == root ? bytes : 0,
        static_cast<double>(binomial_broadcast_sent_bytes(bytes, rank(), root, world_size())));
  tell([&] {
    return BroadcastCall{.type = element_type_of(tensor), .elements = tensor.numel(), .root = root};
  });
}

class MeteredCollective::MeteredMailbox : public Mailbox {
 public:
  MeteredMailbox(MeteredCollective& meter, std::unique_ptr<Mailbox> inner, std::int64_t message_bytes)
      : meter_(meter), inner_(std::move(inner)), call_{.message_bytes = message_bytes} {}

  void send(int to, const torch::Tensor& message) override {
    const auto began = Clock::now();
    inner_->send(to, message);
    const std::int64_t bytes = byte_count(message);
    meter_.count(began, bytes, static_cast<double>(bytes), 0);
    note({.to = to, .bytes = bytes});
  }

  Letter receive() override {
    const auto began = Clock::now();
    Letter letter = inner_->receive();
    meter_.count(began, 0, 0, 0);
    note({});
    return letter;
  }

  void close() override {
    const auto began = Clock::now();
    inner_->close();
    meter_.count(began, 0, 0, 0);
    meter_.tell([this] { return std::move(call_); });
  }

 private:
  void note(Post post) {
    if (!meter_.listener_) return;
    std::vector<Post>& posts = call_.posts;
    if (!posts.empty() && posts.back().to == post.to && posts.back().bytes == post.bytes) {
      ++posts.back().repeat;
    } else {
      posts.push_back(post);
    }
  }

  MeteredCollective& meter_;
  std::unique_ptr<Mailbox> inner_;
  MailboxCall call_;
};

std::unique_ptr<Mailbox> MeteredCollective::open_mailbox(std::int64_t message_bytes) {
  const auto began = Clock::now();
  auto mailbox = std::make_unique<MeteredMailbox>(*this, inner_->open_mailbox(message_bytes), message_bytes);
  count(began, 0, 0);
  return mailbox;
}

void MeteredCollective::barrier() {
  const auto began = Clock::now();
  inner_->barrier();
  count(began, 0, 0);
  tell([] { return BarrierCall{}; });
}

void MeteredCollective::count(Clock::time_point began, std::int64_t payload_bytes, double sent_bytes,
                              std::int64_t collectives) {
  last_returned_ = Clock::now();
  traffic_.payload_bytes += payload_bytes;
  traffic_.sent_bytes += sent_bytes;
  traffic_.collectives += collectives;
  traffic_.time_s += seconds(last_returned_ - began);
}

void MeteredCollective::begin_section() {
  section_start_ = traffic_;
  section_began_ = Clock::now();
  last_returned_ = section_began_;
}

Section MeteredCollective::end_section() const {
  const auto ended = Clock::now();
  Section section;
  section.payload_bytes = traffic_.payload_bytes - section_start_.payload_bytes;
  section.sent_bytes = traffic_.sent_bytes - section_start_.sent_bytes;
  section.collectives = traffic_.collectives - section_start_.collectives;
  if (section.collectives == 0) {
    section.encode_s = seconds(ended - section_began_);
    return section;
  }
  section.exchange_s = traffic_.time_s - section_start_.time_s;
  section.decode_s = seconds(ended - last_returned_);
  section.encode_s = seconds(ended - section_began_) - section.exchange_s - section.decode_s;
  return section;
}

}  // namespace thinpipe::trainer
