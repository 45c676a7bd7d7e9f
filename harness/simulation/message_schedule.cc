// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/message_schedule.hh"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/simulation/tree_message_schedule.hh"

namespace thinpipe {
namespace {

using Kind = ScheduledMessage::Kind;

// Into which a block of an all-reduce is cut. More would hardly change a time, because a worker waits only for a
// sixteenth of a block before it sends, and take longer to simulate: an all-reduce has 2(N-1) blocks.
constexpr int most_pieces_around_ring = 16;

// gloo/allreduce.h, kMaxSegmentSize.
constexpr double segment_bytes = 1024 * 1024;

class Scheduler {
 public:
  Scheduler(int rank, int world_size, bool is_streamed)
      : rank_(rank), size_(world_size), is_streamed_(is_streamed) {}

  MessageSchedule take() {
    if (messages_.empty()) return {};
    return {Lane{.messages = std::move(messages_)}};
  }

  void operator()(const AllReduceCall& call) {
    const std::int64_t bytes = call.elements * bytes_of(call.type);
    if (bytes == 0) return;
    const bool hypercube = std::has_single_bit(static_cast<unsigned>(size_));
    if (hypercube && is_streamed_ && bytes < halving_doubling_from_bytes) {
      swap(static_cast<double>(bytes));
    } else if (bytes < ring_from_bytes) {
      reduce_in_groups(static_cast<double>(bytes));
    } else if (is_streamed_) {
      streamed_ring(static_cast<double>(bytes) / size_);
    } else {
      ring_in_segments(static_cast<double>(bytes) / size_);
    }
  }

  void operator()(const AllGatherCall& call) {
    // Its own block, then the others as they come; the last one is that of its successor, which has it.
    for (int distance = 0; distance < size_; ++distance) {
      const auto bytes_of_block = [&](int origin) {
        const auto place = static_cast<std::size_t>((origin + size_) % size_);
        return static_cast<double>(call.counts[place] * bytes_of(call.type));
      };
      const double bytes = bytes_of_block(rank_ - distance);
      if (is_streamed_) {
        const int pieces = pieces_of(bytes);
        for (int i = 0; i < pieces; ++i) {
          if (distance > 0) receive(former());
          if (distance < size_ - 1)
            messages_.push_back({.peer = next(), .bytes = bytes / pieces, .pieces = pieces});
        }
      } else if (distance < size_ - 1) {
        send_when_ready(next(), bytes);
        ready(former());
        receive(former());
        departed(next());
      }
    }
  }

  void operator()(const AllToAllCall& call) {
    const auto other = [&](int distance) { return (rank_ + distance + size_) % size_; };
    std::vector<int> senders;
    std::vector<int> receivers;
    for (int distance = 1; distance < size_; ++distance) {
      if (call.received[static_cast<std::size_t>(other(-distance))] > 0) senders.push_back(other(-distance));
      if (call.sent[static_cast<std::size_t>(other(distance))] > 0) receivers.push_back(other(distance));
    }
    exchange_directly(senders, receivers, [&](int to) {
      return static_cast<double>(call.sent[static_cast<std::size_t>(to)] * bytes_of(call.type));
    });
  }

  void operator()(const BroadcastCall& call) {
    const int own = (rank_ - call.root + size_) % size_;
    const auto rank_of = [&](int place) { return (place + call.root) % size_; };
    std::vector<int> senders;
    if (own > 0)
      senders.push_back(rank_of(own - static_cast<int>(std::bit_floor(static_cast<unsigned>(own)))));
    std::vector<int> receivers;
    for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(own) + 1)); own + step < size_;
         step *= 2) {
      receivers.push_back(rank_of(own + step));
    }
    const std::int64_t bytes = call.elements * bytes_of(call.type);
    for (std::int64_t done = 0; done < bytes; done += broadcast_piece_bytes) {
      const auto piece = static_cast<double>(std::min(broadcast_piece_bytes, bytes - done));
      for (const int sender : senders) {
        ready(sender);
        receive(sender);
      }
      for (const int receiver : receivers) send_when_ready(receiver, piece);
      for (const int receiver : receivers) departed(receiver);
    }
  }

  void operator()(const BarrierCall& /*call*/) {
    for (int distance = 1; distance < size_; distance *= 2) {
      exchange_directly({(rank_ - distance + size_) % size_}, {(rank_ + distance) % size_},
                        [](int) { return 1.0; });
    }
  }

  void operator()(const PointToPointCall& call) {
    for (const PointToPointMessage& message : call.messages) {
      for (std::int64_t i = 0; i < message.repeat; ++i) {
        if (message.to < 0) {
          messages_.push_back({.kind = Kind::receive_any});
        } else {
          messages_.push_back({.peer = message.to,
                               .bytes = static_cast<double>(message.bytes),
                               .is_point_to_point = true,
                               .when_ready = true});
        }
      }
    }
    for (const PointToPointMessage& message : call.messages) {
      if (message.to >= 0) departed(message.to);
    }
  }

  void operator()(const SparseAllReduceCall& /*call*/) {
    throw Error("simulate: a sparse all-reduce needs a reduction tree, but these workers have none");
  }

 private:
  int next() const { return (rank_ + 1) % size_; }
  int former() const { return (rank_ - 1 + size_) % size_; }

  void send(int peer, double bytes) { messages_.push_back({.peer = peer, .bytes = bytes}); }
  void receive(int peer) { messages_.push_back({.kind = Kind::receive, .peer = peer}); }

  void ready(int peer) { messages_.push_back({.kind = Kind::ready, .peer = peer}); }
  void send_when_ready(int peer, double bytes, int pieces = 1) {
    messages_.push_back({.peer = peer, .bytes = bytes, .pieces = pieces, .when_ready = true});
  }
  void departed(int peer) { messages_.push_back({.kind = Kind::departed, .peer = peer}); }

  // Receives a message from each sender and sends one to each receiver, all at once.
  void exchange_directly(const std::vector<int>& senders, const std::vector<int>& receivers,
                         const auto& bytes_to) {
    for (const int sender : senders) ready(sender);
    for (const int receiver : receivers) send_when_ready(receiver, bytes_to(receiver));
    for (const int sender : senders) receive(sender);
    for (const int receiver : receivers) departed(receiver);
  }

  void streamed_ring(double block_bytes) {
    const int pieces = std::min(pieces_of(block_bytes), most_pieces_around_ring);
    const ScheduledMessage piece = {.peer = next(), .bytes = block_bytes / pieces, .pieces = pieces};
    messages_.insert(messages_.end(), static_cast<std::size_t>(pieces), piece);
    for (int i = 0; i < (2 * (size_ - 1) - 1) * pieces; ++i) {
      receive(former());
      messages_.push_back(piece);
    }
    for (int i = 0; i < pieces; ++i) receive(former());
  }

  // Gloo's ring, towards lower ranks. A worker is ready for a segment, and sends one, when it has the last but one.
  void ring_in_segments(double block_bytes) {
    const int segments = std::max(2, static_cast<int>(std::ceil(block_bytes / segment_bytes)));
    for (int phase = 0; phase < 2; ++phase) {
      const int steps = (size_ - 1) * segments;
      for (int i = 0; i < steps + 2; ++i) {
        if (i >= 2) receive(next());
        if (i >= steps) continue;
        ready(next());
        send_when_ready(former(), block_bytes / segments, segments);
      }
    }
  }

  void swap(double bytes) {
    for (int distance = 1; distance < size_; distance *= 2) {
      send(rank_ ^ distance, bytes);
      receive(rank_ ^ distance);
    }
  }

  // Gloo's BCUBE. In each step the vector is divided among the workers of a group, and each sends the others their
  // parts; the next step divides such a part. Then the sums go back, step by step. Groups have two workers as long as
  // two divides N; the last ones have the odd factor that remains.
  void reduce_in_groups(double bytes) {
    std::vector<int> group_sizes;
    int rest = size_;
    for (; rest % 2 == 0; rest /= 2) group_sizes.push_back(2);
    if (rest > 1) group_sizes.push_back(rest);
    int distance = 1;
    double part = bytes;
    for (const int workers : group_sizes) {
      part /= workers;
      exchange_in_group(distance, workers, part);
      distance *= workers;
    }
    for (auto workers = group_sizes.rbegin(); workers != group_sizes.rend(); ++workers) {
      distance /= *workers;
      exchange_in_group(distance, *workers, part);
      part *= *workers;
    }
  }

  // The group has each `distance`-th worker.
  void exchange_in_group(int distance, int workers, double bytes) {
    const int own = rank_ / distance % workers;
    std::vector<int> others;
    for (int i = 1; i < workers; ++i) others.push_back(rank_ + ((own + i) % workers - own) * distance);
    exchange_directly(others, others, [&](int) { return bytes; });
  }

  int rank_;
  int size_;
  bool is_streamed_;
  std::vector<ScheduledMessage> messages_;
};

}  // namespace

int pieces_of(double bytes) {
  constexpr double min_bytes = 4096;
  return static_cast<int>(std::min(std::ceil(bytes / min_bytes), 128.0));
}

MessageSchedule message_schedule_of(const CollectiveCall& call, int rank, int world_size,
                                    const CollectiveRouting& routing) {
  if (world_size == 1) return {};
  if (!routing.reduction_tree.empty()) {
    if (std::optional<MessageSchedule> schedule =
            tree_message_schedule_of(call, rank, routing.reduction_tree))
      return *schedule;
  }
  Scheduler writer(rank, world_size, routing.is_streamed);
  std::visit(writer, call);
  return writer.take();
}

}  // namespace thinpipe
