// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/message_schedule.hh"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/simulation/tree_message_schedule.hh"

namespace thinpipe {
namespace {

using Kind = ScheduledMessage::Kind;

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
    } else if (hypercube && bytes < ring_from_bytes) {
      halve_and_double(static_cast<double>(bytes));
    } else {
      ring(2 * (size_ - 1), static_cast<double>(bytes) / size_);
    }
  }

  void operator()(const AllGatherCall& call) {
    // Its own block, then the others as they come; the last one is that of its successor, which has it.
    for (int distance = 0; distance < size_; ++distance) {
      const int origin = (rank_ - distance + size_) % size_;
      const auto bytes =
          static_cast<double>(call.counts[static_cast<std::size_t>(origin)] * bytes_of(call.type));
      const int pieces = is_streamed_ ? pieces_of(bytes) : 1;
      for (int i = 0; i < pieces; ++i) {
        if (distance > 0) receive(former());
        if (origin != next())
          messages_.push_back({.peer = next(), .bytes = bytes / pieces, .pieces = pieces});
      }
    }
  }

  void operator()(const AllToAllCall& call) {
    for (int distance = 1; distance < size_; ++distance) {
      const int peer = (rank_ + distance) % size_;
      const std::int64_t count = call.sent[static_cast<std::size_t>(peer)];
      if (count > 0) send(peer, static_cast<double>(count * bytes_of(call.type)));
    }
    for (int distance = 1; distance < size_; ++distance) {
      const int peer = (rank_ - distance + size_) % size_;
      if (call.received[static_cast<std::size_t>(peer)] > 0) receive(peer);
    }
  }

  void operator()(const BroadcastCall& call) {
    const auto bytes = static_cast<double>(call.elements * bytes_of(call.type));
    const int own = (rank_ - call.root + size_) % size_;
    const auto rank_of = [&](int place) { return (place + call.root) % size_; };
    if (own > 0) receive(rank_of(own - static_cast<int>(std::bit_floor(static_cast<unsigned>(own)))));
    for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(own) + 1)); own + step < size_;
         step *= 2) {
      send(rank_of(own + step), bytes);
    }
  }

  void operator()(const BarrierCall& /*call*/) {
    for (int distance = 1; distance < size_; distance *= 2) {
      send((rank_ + distance) % size_, 1);
      receive((rank_ - distance + size_) % size_);
    }
  }

  void operator()(const PointToPointCall& call) {
    for (const PointToPointMessage& message : call.messages) {
      for (std::int64_t i = 0; i < message.repeat; ++i) {
        if (message.to < 0) {
          messages_.push_back({.kind = Kind::receive_any});
        } else {
          messages_.push_back(
              {.peer = message.to, .bytes = static_cast<double>(message.bytes), .is_point_to_point = true});
        }
      }
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

  void ring(int rounds, double bytes) {
    for (int round = 0; round < rounds; ++round) {
      send(next(), bytes);
      receive(former());
    }
  }

  void exchange(int distance, double bytes) {
    send(rank_ ^ distance, bytes);
    receive(rank_ ^ distance);
  }

  void swap(double bytes) {
    for (int distance = 1; distance < size_; distance *= 2) exchange(distance, bytes);
  }

  void halve_and_double(double bytes) {
    double part = bytes / 2;
    for (int distance = 1; distance < size_; distance *= 2, part /= 2) exchange(distance, part);
    for (int distance = size_ / 2; distance > 0; distance /= 2) exchange(distance, part *= 2);
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
