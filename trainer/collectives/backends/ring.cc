// SPDX-License-Identifier: Apache-2.0
// If ranks follow the network's order, the ring crosses every cut once in each direction.
#include "trainer/collectives/backends/ring.hh"

#include <bit>
#include <set>
#include <utility>

#include "common/protocol/call.hh"
#include "trainer/collectives/backends/streamed.hh"

namespace thinpipe::trainer {
namespace {

int after(const GroupOptions& group_options) {
  return (group_options.rank + 1) % group_options.world_size;
}
int before(const GroupOptions& group_options) {
  return (group_options.rank + group_options.world_size - 1) % group_options.world_size;
}

// Returns the ranks that differ from this worker's in one bit; empty unless every worker has the same number
// of them.
std::vector<int> across_hypercube(const GroupOptions& group_options) {
  std::vector<int> partners;
  if (!std::has_single_bit(static_cast<unsigned>(group_options.world_size))) return partners;
  for (int bit = 1; bit < group_options.world_size; bit *= 2) partners.push_back(group_options.rank ^ bit);
  return partners;
}

std::vector<int> all_peers(const GroupOptions& group_options) {
  if (group_options.world_size == 1) return {};
  std::set<int> peers = {before(group_options), after(group_options)};
  for (const int partner : across_hypercube(group_options)) peers.insert(partner);
  return {peers.begin(), peers.end()};
}

class RingCollective : public StreamedCollective {
 public:
  RingCollective(const GlooOptions& options, const GroupOptions& group_options)
      : StreamedCollective(options, group_options, all_peers(group_options)),
        next_(after(group_options)),
        previous_(before(group_options)) {
    for (const int partner : across_hypercube(group_options)) partners_.push_back(&peer(partner));
  }

  // For a small message the number of hops dominates the cost, and a ring has the most.
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    if (bytes < ring_from_bytes && !is_swapped(bytes)) {
      gloo().all_reduce(tensor, reduction);
    } else {
      StreamedCollective::all_reduce(tensor, reduction);
    }
  }

  double all_reduce_sent_bytes(std::int64_t bytes) const override {
    if (!is_swapped(bytes)) return StreamedCollective::all_reduce_sent_bytes(bytes);
    return static_cast<double>(std::ssize(partners_) * bytes);
  }

 private:
  bool is_swapped(std::int64_t bytes) const {
    return bytes < halving_doubling_from_bytes && !partners_.empty();
  }

  void stream_all_reduce(const Reducible& vector) override {
    if (is_swapped(std::ssize(vector.bytes))) {
      return recursive_doubling_all_reduce(vector, rank(), partners_, timeout_s());
    }
    ring_all_reduce(vector, rank(), world_size(), peer(next_), peer(previous_), timeout_s());
  }

  void stream_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes) override {
    ring_all_gather(bytes, block_bytes, static_cast<std::size_t>(rank()), peer(next_), peer(previous_),
                    timeout_s());
  }

  int next_;
  int previous_;
  std::vector<Peer*> partners_;  // across the hypercube
};

THINPIPE_REGISTER(Collective){
    "ring", "TCP: all-reduce and all-gather around the ranks as streams, the rest as gloo",
    describe_options<GlooOptions>(), [](JsonObject& options, const GroupOptions& group_options) {
      return make_ring(read_options<GlooOptions>(options), group_options);
    }};

}  // namespace

std::unique_ptr<Collective> make_ring(const GlooOptions& options, const GroupOptions& group_options) {
  return std::make_unique<RingCollective>(options, group_options);
}

}  // namespace thinpipe::trainer
