// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/tree_message_schedule.hh"

#include <algorithm>

#include <fmt/format.h>

#include "netem/topology/reduction_tree.hh"

namespace thinpipe {
namespace {

using Kind = ScheduledMessage::Kind;

class TreeScheduler {
 public:
  TreeScheduler(int rank, const std::vector<int>& parents)
      : rank_(rank), parents_(parents), parent_(parents[static_cast<std::size_t>(rank)]) {
    for (int other = 0; std::cmp_less(other, parents.size()); ++other) {
      if (parents[static_cast<std::size_t>(other)] == rank_) children_.push_back(other);
    }
    neighbours_ = children_;
    if (parent_ >= 0) neighbours_.push_back(parent_);
  }

  std::optional<MessageSchedule> operator()(const AllReduceCall& call) {
    const auto bytes = static_cast<double>(call.elements * bytes_of(call.type));
    if (call.largest_code > 0) return sums_of_others(bytes, call);
    return up_and_down(bytes, [&](int /*neighbour*/) { return bytes; });
  }

  std::optional<MessageSchedule> operator()(const SparseAllReduceCall& call) {
    // Both ends of an edge need the same number of pieces, so it follows from a number that all workers know.
    return up_and_down(static_cast<double>(call.elements), [&](int neighbour) {
      const auto edge = std::ranges::find(call.edges, neighbour, &EdgeBytes::neighbour);
      if (edge == call.edges.end()) {
        throw Error(
            fmt::format("simulate: in the trace, worker {} has no edge to worker {}", rank_, neighbour));
      }
      return static_cast<double>(edge->sent);
    });
  }

  std::optional<MessageSchedule> operator()(const AllGatherCall& call) {
    std::vector<double> bytes;
    for (const std::int64_t count : call.counts)
      bytes.push_back(static_cast<double>(count * bytes_of(call.type)));
    return gather(bytes);
  }

  std::optional<MessageSchedule> operator()(const BroadcastCall& call) {
    std::vector<double> bytes(parents_.size(), 0);
    bytes[static_cast<std::size_t>(call.root)] = static_cast<double>(call.elements * bytes_of(call.type));
    return gather(bytes);
  }

  std::optional<MessageSchedule> operator()(const auto& /*call*/) { return {}; }

 private:
  // Sends sums up the tree and the result down it, in as many pieces as `bytes` make. bytes_to(neighbour):
  // the total to that neighbour.
  MessageSchedule up_and_down(double bytes, const auto& bytes_to) const {
    if (bytes == 0) return {};
    const int pieces = pieces_of(bytes);
    // The messages of one piece.
    std::vector<ScheduledMessage> to_parent;
    std::vector<ScheduledMessage> to_children;
    for (const int neighbour : neighbours_) {
      std::vector<ScheduledMessage>& messages = neighbour == parent_ ? to_parent : to_children;
      messages.push_back({.peer = neighbour, .bytes = bytes_to(neighbour) / pieces, .pieces = pieces});
    }
    const auto append = [](Lane& lane, const std::vector<ScheduledMessage>& messages) {
      lane.messages.insert(lane.messages.end(), messages.begin(), messages.end());
    };
    Lane up;
    Lane down;
    for (int i = 0; i < pieces; ++i) {
      for (const int child : children_) up.messages.push_back({.kind = Kind::receive, .peer = child});
      append(up, to_parent);
      if (parent_ >= 0) down.messages.push_back({.kind = Kind::receive, .peer = parent_});
      append(parent_ >= 0 ? down : up, to_children);
    }
    return {std::move(up), std::move(down)};
  }

  // Sends each neighbour the sums of all workers but those behind it, whose own sums need not have come.
  MessageSchedule sums_of_others(double bytes, const AllReduceCall& call) const {
    if (bytes == 0) return {};
    const int pieces = pieces_of(bytes);
    MessageSchedule schedule;
    for (const int to : neighbours_) {
      Lane& lane = schedule.emplace_back();
      for (int i = 0; i < pieces; ++i) {
        for (const int from : neighbours_) {
          if (from != to) lane.messages.push_back(arrived(from, i + 1));
        }
        lane.messages.push_back({.peer = to, .bytes = bytes_to(to, call) / pieces, .pieces = pieces});
      }
    }
    // The lanes before it need no message any more when all have come.
    Lane& last = schedule.emplace_back();
    for (const int from : neighbours_) last.messages.push_back(arrived(from, pieces));
    for (const int from : neighbours_) {
      last.messages.insert(last.messages.end(), static_cast<std::size_t>(pieces),
                           {.kind = Kind::receive, .peer = from});
    }
    return schedule;
  }

  static ScheduledMessage arrived(int from, int messages) {
    return {.kind = Kind::arrived, .peer = from, .arrivals = messages};
  }

  // Returns the bytes of sums of codes on the edge to a neighbour.
  double bytes_to(int neighbour, const AllReduceCall& call) const {
    const bool upwards = neighbour == parent_;
    const std::int64_t below =
        netem::workers_below(parents_)[static_cast<std::size_t>(upwards ? rank_ : neighbour)];
    const std::int64_t behind = upwards ? below : std::ssize(parents_) - below;
    return static_cast<double>(call.elements) * bits_of_code_sum(behind, call.largest_code) / 8;
  }

  // bytes: the size of each worker's block.
  MessageSchedule gather(const std::vector<double>& bytes) const {
    const auto pieces = [&](int rank) { return pieces_of(bytes[static_cast<std::size_t>(rank)]); };
    Lane own;
    for (int i = 0; i < pieces(rank_); ++i) {
      for (const int neighbour : neighbours_) {
        own.messages.push_back({.peer = neighbour,
                                .bytes = bytes[static_cast<std::size_t>(rank_)] / pieces(rank_),
                                .pieces = pieces(rank_)});
      }
    }
    MessageSchedule schedule = {std::move(own)};
    for (const int neighbour : neighbours_) {
      Lane& lane = schedule.emplace_back();
      std::ranges::remove_copy(neighbours_, std::back_inserter(lane.forwards_to), neighbour);
      for (int origin = 0; std::cmp_less(origin, bytes.size()); ++origin) {
        if (!arrives_from(neighbour, origin)) continue;
        lane.messages.insert(lane.messages.end(), static_cast<std::size_t>(pieces(origin)),
                             {.kind = Kind::receive, .peer = neighbour});
      }
    }
    return schedule;
  }

  // Returns whether the path from `origin` to this worker ends with the edge from `neighbour`.
  bool arrives_from(int neighbour, int origin) const {
    if (origin == rank_) return false;
    int below = origin;  // the child through which the path from the origin enters this worker, if it does
    for (int next = origin; next >= 0; next = parents_[static_cast<std::size_t>(next)]) {
      if (next == rank_) return below == neighbour;
      below = next;
    }
    return neighbour == parent_;
  }

  int rank_;
  const std::vector<int>& parents_;
  int parent_;
  std::vector<int> children_;
  std::vector<int> neighbours_;
};

}  // namespace

std::optional<MessageSchedule> tree_message_schedule_of(const CollectiveCall& call, int rank,
                                                        const std::vector<int>& parents) {
  return std::visit(TreeScheduler(rank, parents), call);
}

}  // namespace thinpipe
