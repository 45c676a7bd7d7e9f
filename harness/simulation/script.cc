#include "harness/simulation/script.hh"

#include <bit>
#include <numeric>

#include "harness/simulation/tree_script.hh"

namespace thinpipe {
namespace {

using Kind = ScriptLine::Kind;

class Writer {
 public:
  Writer(int rank, int world_size, bool swaps_least)
      : rank_(rank), size_(world_size), swaps_least_(swaps_least) {}

  Script take() {
    if (lines_.empty()) return {};
    return {Track{.lines = std::move(lines_)}};
  }

  void operator()(const AllReduceCall& call) {
    const std::int64_t bytes = call.elements * bytes_of(call.type);
    if (bytes == 0) return;
    const bool hypercube = std::has_single_bit(static_cast<unsigned>(size_));
    if (hypercube && swaps_least_ && bytes < only_hops_matter_bytes) {
      swap(static_cast<double>(bytes));
    } else if (hypercube && bytes < hops_matter_bytes) {
      halve_and_double(static_cast<double>(bytes));
    } else {
      ring(2 * (size_ - 1), static_cast<double>(bytes) / size_);
    }
  }

  void operator()(const AllGatherCall& call) {
    for (int round = 0; round + 1 < size_; ++round) {
      const int block = (rank_ - round + size_) % size_;
      send(next(), static_cast<double>(call.counts[static_cast<std::size_t>(block)] * bytes_of(call.type)));
      receive(former());
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

  void operator()(const MailboxCall& call) {
    for (const Post& post : call.posts) {
      for (std::int64_t i = 0; i < post.repeat; ++i) {
        if (post.to < 0) {
          lines_.push_back({.kind = Kind::take_letter});
        } else {
          lines_.push_back({.peer = post.to, .bytes = static_cast<double>(post.bytes), .is_letter = true});
        }
      }
    }
  }

  void operator()(const EntrySumCall& /*call*/) {
    throw Error("simulate: a sparse all-reduce needs a reduction tree, but these workers have none");
  }

 private:
  int next() const { return (rank_ + 1) % size_; }
  int former() const { return (rank_ - 1 + size_) % size_; }

  void send(int peer, double bytes) { lines_.push_back({.peer = peer, .bytes = bytes}); }
  void receive(int peer) { lines_.push_back({.kind = Kind::receive, .peer = peer}); }

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
  bool swaps_least_;
  std::vector<ScriptLine> lines_;
};

}  // namespace

Script script_of(const CollectiveCall& call, int rank, int world_size, const Ways& ways) {
  if (world_size == 1) return {};
  if (!ways.parents.empty()) {
    if (std::optional<Script> script = tree_script_of(call, rank, ways.parents)) return *script;
  }
  Writer writer(rank, world_size, ways.swaps_least);
  std::visit(writer, call);
  return writer.take();
}

}  // namespace thinpipe
