// Where ranks follow the network, it crosses every cut once in each direction.
#include "trainer/collectives/ring.hh"

#include <bit>
#include <set>
#include <utility>

#include "harness/replay/call.hh"
#include "trainer/collectives/streamed.hh"

namespace thinpipe::trainer {
namespace {

int after(const Membership& membership) {
  return (membership.rank + 1) % membership.world_size;
}
int before(const Membership& membership) {
  return (membership.rank + membership.world_size - 1) % membership.world_size;
}

// Whose ranks differ from this worker's in one bit; none where not all workers have as many.
std::vector<int> across_hypercube(const Membership& membership) {
  std::vector<int> partners;
  if (!std::has_single_bit(static_cast<unsigned>(membership.world_size))) return partners;
  for (int bit = 1; bit < membership.world_size; bit *= 2) partners.push_back(membership.rank ^ bit);
  return partners;
}

std::vector<int> all_peers(const Membership& membership) {
  if (membership.world_size == 1) return {};
  std::set<int> peers = {before(membership), after(membership)};
  for (const int partner : across_hypercube(membership)) peers.insert(partner);
  return {peers.begin(), peers.end()};
}

class RingCollective : public StreamedCollective {
 public:
  RingCollective(const GlooOptions& options, const Membership& membership)
      : StreamedCollective(options, membership, all_peers(membership)),
        next_(after(membership)),
        previous_(before(membership)) {
    for (const int partner : across_hypercube(membership)) partners_.push_back(&peer(partner));
  }

  // A small one costs hops, of which a ring has most.
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    const bool is_small = std::cmp_less(tensor.nbytes(), hops_matter_bytes);
    if (is_small && !is_swapped(tensor.nbytes())) {
      gloo().all_reduce(tensor, reduction);
    } else {
      StreamedCollective::all_reduce(tensor, reduction);
    }
  }

 private:
  bool is_swapped(std::size_t bytes) const {
    return std::cmp_less(bytes, only_hops_matter_bytes) && !partners_.empty();
  }

  void stream_all_reduce(const Reducible& vector) override {
    if (is_swapped(vector.bytes.size())) {
      return hypercube_all_reduce(vector, rank(), partners_, timeout_s());
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
    describe_options<GlooOptions>(), [](JsonObject& options, const Membership& membership) {
      return make_ring(read_options<GlooOptions>(options), membership);
    }};

}  // namespace

std::unique_ptr<Collective> make_ring(const GlooOptions& options, const Membership& membership) {
  return std::make_unique<RingCollective>(options, membership);
}

}  // namespace thinpipe::trainer
