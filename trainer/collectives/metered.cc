// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/metered.hh"

#include <algorithm>

#include "trainer/collectives/element_type.hh"
#include "trainer/collectives/ring_formula.hh"
#include "trainer/collectives/sparse_block.hh"

namespace thinpipe::trainer {

namespace {

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
  const Stopwatch stopwatch;
  inner_->all_reduce(tensor, reduction);
  count(stopwatch, bytes, inner_->all_reduce_sent_bytes(bytes), delivered_by_all_reduce(bytes));
  notify([&] {
    return AllReduceCall{.type = element_type_of(tensor), .elements = tensor.numel(), .reduction = reduction};
  });
}

void MeteredCollective::all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) {
  const std::int64_t bytes = byte_count(codes);
  Durations produced;
  Durations consumed;
  const Stopwatch stopwatch;
  inner_->all_reduce_quantised(
      codes, largest,
      {.produce = timed(chunks.produce, produced), .consume = timed(chunks.consume, consumed)});
  count(stopwatch, bytes, inner_->all_reduce_quantised_sent_bytes(bytes, largest),
        delivered_by_all_reduce(bytes));
  traffic_.time = traffic_.time - produced - consumed;
  consumed_ += consumed;
  notify([&] {
    return AllReduceCall{.type = element_type_of(codes),
                         .elements = codes.numel(),
                         .largest_code = largest,
                         .in_chunks = static_cast<bool>(chunks.produce)};
  });
}

CodeChunks::Function MeteredCollective::timed(const CodeChunks::Function& chunk, Durations& time) {
  if (!chunk) return {};
  return [&chunk, &time](std::size_t begin, std::size_t end) {
    const Stopwatch stopwatch;
    chunk(begin, end);
    time += stopwatch.read();
  };
}

std::vector<EdgeBytes> MeteredCollective::sparse_all_reduce(torch::Tensor tensor,
                                                            std::span<const std::uint32_t> indices) {
  const Blocks blocks{static_cast<std::size_t>(tensor.numel())};
  SparseAllReduceCall call{.elements = tensor.numel(),
                           .payload_bytes = static_cast<std::int64_t>(sparse_bytes(blocks, indices))};
  const Stopwatch stopwatch;
  call.edges = inner_->sparse_all_reduce(tensor, indices);
  count(stopwatch, call);
  notify([&] { return call; });
  return call.edges;
}

void MeteredCollective::replay_sparse_all_reduce(const SparseAllReduceCall& call) {
  const Stopwatch stopwatch;
  inner_->replay_sparse_all_reduce(call);
  count(stopwatch, call);
  notify([&] { return call; });
}

torch::Tensor MeteredCollective::all_gather_v(const torch::Tensor& input,
                                              std::span<const std::int64_t> counts) {
  const Stopwatch stopwatch;
  torch::Tensor gathered = inner_->all_gather_v(input, counts);
  const auto element_size = static_cast<std::int64_t>(input.element_size());
  count(stopwatch, byte_count(input),
        static_cast<double>(ring_all_gather_v_sent_bytes(counts, rank()) * element_size),
        byte_count(gathered) - byte_count(input));
  notify([&] { return AllGatherCall{.type = element_type_of(input), .counts = copy_of(counts)}; });
  return gathered;
}

torch::Tensor MeteredCollective::all_to_all_v(const torch::Tensor& input,
                                              std::span<const std::int64_t> send_counts,
                                              std::span<const std::int64_t> receive_counts) {
  const Stopwatch stopwatch;
  torch::Tensor received = inner_->all_to_all_v(input, send_counts, receive_counts);
  const auto element_size = static_cast<std::int64_t>(input.element_size());
  count(stopwatch, byte_count(input),
        static_cast<double>((input.numel() - send_counts[rank()]) * element_size),
        byte_count(received) - receive_counts[rank()] * element_size);
  notify([&] {
    return AllToAllCall{
        .type = element_type_of(input), .sent = copy_of(send_counts), .received = copy_of(receive_counts)};
  });
  return received;
}

void MeteredCollective::broadcast(torch::Tensor tensor, int root) {
  const std::int64_t bytes = byte_count(tensor);
  const Stopwatch stopwatch;
  inner_->broadcast(tensor, root);
  count(stopwatch, rank() == root ? bytes : 0,
        static_cast<double>(binomial_broadcast_sent_bytes(bytes, rank(), root, world_size())),
        rank() == root ? 0 : bytes);
  notify([&] {
    return BroadcastCall{.type = element_type_of(tensor), .elements = tensor.numel(), .root = root};
  });
}

class MeteredCollective::MeteredPointToPoint : public PointToPoint {
 public:
  MeteredPointToPoint(MeteredCollective& meter, std::unique_ptr<PointToPoint> inner,
                      std::int64_t message_bytes)
      : meter_(meter), inner_(std::move(inner)), call_{.message_bytes = message_bytes} {}

  void send(int to, const torch::Tensor& message) override {
    const Stopwatch stopwatch;
    inner_->send(to, message);
    const std::int64_t bytes = byte_count(message);
    meter_.count(stopwatch, bytes, static_cast<double>(bytes), 0, 0);
    record({.to = to, .bytes = bytes});
  }

  ReceivedMessage receive() override {
    const Stopwatch stopwatch;
    ReceivedMessage received = inner_->receive();
    meter_.count(stopwatch, 0, 0, byte_count(received.message), 0);
    record({});
    return received;
  }

  void close() override {
    const Stopwatch stopwatch;
    inner_->close();
    meter_.count(stopwatch, 0, 0, 0, 0);
    meter_.notify([this] { return std::move(call_); });
  }

 private:
  void record(PointToPointMessage message) {
    if (!meter_.observer_) return;
    std::vector<PointToPointMessage>& messages = call_.messages;
    if (!messages.empty() && messages.back().to == message.to && messages.back().bytes == message.bytes) {
      ++messages.back().repeat;
    } else {
      messages.push_back(message);
    }
  }

  MeteredCollective& meter_;
  std::unique_ptr<PointToPoint> inner_;
  PointToPointCall call_;
};

std::unique_ptr<PointToPoint> MeteredCollective::open_point_to_point(std::int64_t message_bytes) {
  const Stopwatch stopwatch;
  auto point_to_point =
      std::make_unique<MeteredPointToPoint>(*this, inner_->open_point_to_point(message_bytes), message_bytes);
  count(stopwatch, 0, 0, 0);
  return point_to_point;
}

void MeteredCollective::barrier() {
  const Stopwatch stopwatch;
  inner_->barrier();
  count(stopwatch, 0, 0, 0);
  notify([] { return BarrierCall{}; });
}

void MeteredCollective::count(const Stopwatch& stopwatch, const SparseAllReduceCall& call) {
  std::int64_t sent_bytes = 0;
  std::int64_t delivered_bytes = 0;
  for (const EdgeBytes& edge : call.edges) {
    sent_bytes += edge.sent;
    delivered_bytes += edge.received;
  }
  count(stopwatch, call.payload_bytes, static_cast<double>(sent_bytes), delivered_bytes);
}

void MeteredCollective::count(const Stopwatch& call, std::int64_t payload_bytes, double sent_bytes,
                              std::int64_t delivered_bytes, std::int64_t collectives) {
  const Durations took = call.read();
  traffic_.time += took;
  last_returned_ = section_.read();
  if (traffic_.collectives == section_start_.collectives) first_began_ = last_returned_ - took;
  traffic_.payload_bytes += payload_bytes;
  traffic_.sent_bytes += sent_bytes;
  traffic_.delivered_bytes += delivered_bytes;
  traffic_.collectives += collectives;
}

void MeteredCollective::begin_section() {
  section_start_ = traffic_;
  section_ = Stopwatch();
  last_returned_ = {};
  consumed_ = {};
}

Section MeteredCollective::end_section() const {
  const Durations whole = section_.read();
  const bool has_collectives = traffic_.collectives > section_start_.collectives;
  const Durations exchange = traffic_.time - section_start_.time;
  Durations decode = consumed_;
  if (has_collectives) decode += whole - last_returned_;
  const Durations encode = whole - exchange - decode;
  const Durations between = has_collectives ? encode - first_began_ : Durations{};
  return {
      .encode_s = encode.elapsed_s,
      .exchange_s = exchange.elapsed_s,
      .decode_s = decode.elapsed_s,
      .between_collectives_s = std::max(0.0, between.elapsed_s),  // 0 for a single collective, up to rounding
      .encode_cpu_s = encode.cpu_s,
      .between_collectives_cpu_s = std::max(0.0, between.cpu_s),
      .decode_cpu_s = decode.cpu_s,
      .overlapped_decode_s = consumed_.elapsed_s,
      .overlapped_decode_cpu_s = consumed_.cpu_s,
      .payload_bytes = traffic_.payload_bytes - section_start_.payload_bytes,
      .sent_bytes = traffic_.sent_bytes - section_start_.sent_bytes,
      .delivered_bytes = traffic_.delivered_bytes - section_start_.delivered_bytes,
      .collectives = traffic_.collectives - section_start_.collectives};
}

}  // namespace thinpipe::trainer
