// SPDX-License-Identifier: Apache-2.0
#include "trainer/replay/replayer.hh"

#include <algorithm>
#include <numeric>

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "trainer/collectives/element_type.hh"

namespace thinpipe::trainer {
namespace {

// Enough for connections to reach their rate, yet short if a whole gradient takes a minute.
constexpr std::int64_t warm_up_elements = std::int64_t{1} << 22;

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Allocates as much memory as a training run's weights, gradients, momentum and, for a batch of small images,
// activations.
std::vector<float> training_memory(ComputeEmulation compute_emulation, const CommunicationTrace& trace) {
  if (compute_emulation == ComputeEmulation::sleep) return {};
  std::size_t elements = std::size_t{1} << 22;
  for (const TracedParameter& each : trace.parameters)
    elements += 3 * static_cast<std::size_t>(each.elements);
  return std::vector<float>(elements);
}

}  // namespace

Replayer::Replayer(const CommunicationTrace& trace, const ComputeTimes& times,
                   ComputeEmulation compute_emulation, MeteredCollective& collective, double variation)
    : trace_(trace),
      times_(times),
      collective_(collective),
      memory_(training_memory(compute_emulation, trace)),
      variation_(variation),
      random_(static_cast<std::uint64_t>(collective.rank())),
      compute_(compute_emulation, memory_),
      coding_compute_(compute_emulation, memory_),
      preparing_compute_(compute_emulation, memory_),
      thread_([this](std::size_t bucket) { exchange_bucket(bucket); }) {
  for (const TracedLayout& layout : trace.layouts) {
    layouts_.push_back(timed_layout(layout, trace, times));
  }
}

Replayer::~Replayer() {
  preparing_thread_.join();
}

void Replayer::warm_up(const std::optional<std::size_t>& exchange) {
  if (!exchange) return;
  current_ = &trace_.exchanges[*exchange];
  const TracedLayout& layout = trace_.layouts[current_->layout];
  std::size_t buckets = 0;
  for (std::int64_t elements = 0; buckets < layout.size() && elements < warm_up_elements; ++buckets) {
    for (const std::size_t p : layout[buckets].parameters) elements += trace_.parameters[p].elements;
  }
  thread_.begin(buckets);
  for (std::size_t b = 0; b < buckets; ++b) thread_.release(b);
  thread_.drain();
}

std::vector<ReplayedIteration> Replayer::replay(const std::optional<std::size_t>& exchange, bool starts) {
  if (!exchange) return {iterate(Part::none, starts)};
  current_ = &trace_.exchanges[*exchange];
  if (!current_->overlap_steps) return {iterate(Part::during_backward, starts)};
  if (*current_->overlap_steps == 0) return {iterate(Part::after_update, starts)};
  std::vector<ReplayedIteration> iterations;
  begin_exchange();
  for (std::size_t b = 0; b < layouts_[current_->layout].size(); ++b) thread_.release(b);
  for (std::int64_t left = *current_->overlap_steps; left > 0; --left) {
    iterations.push_back(iterate(left > 1 ? Part::none : Part::end));
  }
  return iterations;
}

ReplayedIteration Replayer::iterate(Part part, bool starts) {
  const Stopwatch stopwatch;
  compute_.set_pace(next_pace());
  if (starts) compute_.spend(times_.start_s);
  compute_.begin();
  const double computed_s = times_.load_s + times_.compute_s;
  ReplayedIteration iteration;
  load();
  iteration.load_s = stopwatch.elapsed_s();
  if (part == Part::during_backward) {
    begin_exchange();
    const std::vector<TimedBucket>& layout = layouts_[current_->layout];
    std::vector<std::size_t> order(layout.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::size_t b) { return layout[b].ready_s; });
    for (const std::size_t b : order) {
      compute_.reach(times_.load_s + layout[b].ready_s);
      thread_.release(b);
      if (b == 0) iteration.first_bucket_s = stopwatch.elapsed_s() - iteration.load_s;
    }
    compute_.reach(computed_s);
    wait(iteration);
  }
  compute_.reach(computed_s);
  compute_.spend(times_.finish_s);
  if (part == Part::after_update) {
    begin_exchange();
    for (std::size_t b = 0; b < layouts_[current_->layout].size(); ++b) thread_.release(b);
  }
  if (part == Part::after_update || part == Part::end) wait(iteration);
  iteration.iteration_time_s = stopwatch.elapsed_s();
  iteration.ended_s = Stopwatch::monotonic_s();
  iteration.cpu_s =
      times_.prepare_s + stopwatch.cpu_s() + iteration.section.encode_cpu_s + iteration.section.decode_cpu_s;
  return iteration;
}

void Replayer::begin_exchange() {
  section_ = {};
  thread_.begin(layouts_[current_->layout].size());
}

void Replayer::wait(ReplayedIteration& iteration) {
  const Stopwatch waiting;
  thread_.drain();
  iteration.exposed_exchange_s = waiting.elapsed_s();
  iteration.section = section_;
}

double Replayer::next_pace() {
  constexpr double farthest = 3;
  std::normal_distribution<double> normal;
  return std::max(0.0, 1 + variation_ * std::clamp(normal(random_), -farthest, farthest));
}

void Replayer::load() {
  if (prepared_.valid()) prepared_.get();
  compute_.reach(times_.load_s);
  if (times_.prepare_s == 0) return;
  prepared_ = boost::asio::post(
      preparing_thread_, boost::asio::use_future([this] { preparing_compute_.spend(times_.prepare_s); }));
}

void Replayer::exchange_bucket(std::size_t b) {
  const TimedBucket& bucket = layouts_[current_->layout][b];
  const std::vector<CollectiveCall>& calls = current_->buckets[b];
  collective_.begin_section();
  for (std::size_t i = 0; i < std::max<std::size_t>(calls.size(), 1); ++i) {
    const CallCoding coding = bucket.coding(times_, calls, i);
    coding_compute_.spend(coding.before_s);
    if (i < calls.size()) call(calls[i], coding);
    coding_compute_.spend(coding.after_s);
  }
  section_ += collective_.end_section();
}

void Replayer::call(const CollectiveCall& call, const CallCoding& coding) {
  struct Caller {
    Replayer& replayer;
    const CallCoding& coding;
    Collective& network;

    void operator()(const AllReduceCall& each) const {
      const torch::Tensor tensor = replayer.elements(each.type, each.elements);
      if (each.largest_code > 0) {
        const CodeChunks chunks{
            .produce = replayer.spend_by_chunks(coding.overlapped_encode_s, each.elements),
            .consume = replayer.spend_by_chunks(coding.overlapped_decode_s, each.elements)};
        network.all_reduce_quantised(tensor, static_cast<int>(each.largest_code),
                                     each.in_chunks ? chunks : CodeChunks{});
      } else {
        network.all_reduce(tensor, each.reduction);
      }
    }
    void operator()(const AllGatherCall& each) const {
      const std::int64_t own = each.counts[static_cast<std::size_t>(network.rank())];
      network.all_gather_v(replayer.elements(each.type, own), each.counts);
    }
    void operator()(const AllToAllCall& each) const {
      network.all_to_all_v(replayer.elements(each.type, sum(each.sent)), each.sent, each.received);
    }
    void operator()(const BroadcastCall& each) const {
      network.broadcast(replayer.elements(each.type, each.elements), each.root);
    }
    void operator()(const BarrierCall& /*each*/) const { network.barrier(); }
    void operator()(const SparseAllReduceCall& each) const { network.replay_sparse_all_reduce(each); }
    void operator()(const PointToPointCall& each) const {
      const std::unique_ptr<PointToPoint> point_to_point = network.open_point_to_point(each.message_bytes);
      for (const PointToPointMessage& message : each.messages) {
        for (std::int64_t i = 0; i < message.repeat; ++i) {
          if (message.to < 0) {
            point_to_point->receive();
          } else {
            point_to_point->send(message.to, replayer.elements(ElementType::uint8, message.bytes));
          }
        }
      }
      point_to_point->close();
    }
  };
  std::visit(Caller{*this, coding, collective_}, call);
}

// Spends on each chunk its share of the time.
CodeChunks::Function Replayer::spend_by_chunks(double time_s, std::int64_t elements) {
  return [this, time_s, elements](std::size_t begin, std::size_t end) {
    coding_compute_.spend(time_s * static_cast<double>(end - begin) / static_cast<double>(elements));
  };
}

// Returns elements of reused memory. The collective may write to it, because nobody reads the values.
torch::Tensor Replayer::elements(ElementType type, std::int64_t count) {
  torch::Tensor& storage = storage_[type];
  if (!storage.defined() || storage.numel() < count) {
    storage = torch::zeros({count}, scalar_type_of(type));
  }
  return storage.narrow(0, 0, count);
}

}  // namespace thinpipe::trainer
