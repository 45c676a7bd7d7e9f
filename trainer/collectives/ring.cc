// Where ranks follow the network, it crosses every cut once in each direction.
#include "trainer/collectives/ring.hh"

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

std::vector<int> neighbours(const Membership& membership) {
  if (membership.world_size == 1) return {};
  if (membership.world_size == 2) return {after(membership)};
  return {before(membership), after(membership)};
}

class RingCollective : public StreamedCollective {
 public:
  RingCollective(const GlooOptions& options, const Membership& membership)
      : StreamedCollective(options, membership, neighbours(membership)),
        next_(after(membership)),
        previous_(before(membership)) {}

  // A small one costs hops, of which a ring has most.
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    if (std::cmp_less(tensor.nbytes(), hops_matter_bytes)) {
      gloo().all_reduce(tensor, reduction);
    } else {
      StreamedCollective::all_reduce(tensor, reduction);
    }
  }

 private:
  void stream_all_reduce(const Reducible& vector) override {
    ring_all_reduce(vector, rank(), world_size(), peer(next_), peer(previous_), timeout_s());
  }

  void stream_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes) override {
    ring_all_gather(bytes, block_bytes, static_cast<std::size_t>(rank()), peer(next_), peer(previous_),
                    timeout_s());
  }

  int next_;
  int previous_;
};

const Registration<Collective, const Membership&> ring_registration{
    "ring", "TCP: all-reduce and all-gather around the ranks as streams, the rest as gloo",
    describe_options<GlooOptions>(), [](JsonObject& options, const Membership& membership) {
      return make_ring(read_options<GlooOptions>(options), membership);
    }};

}  // namespace

std::unique_ptr<Collective> make_ring(const GlooOptions& options, const Membership& membership) {
  return std::make_unique<RingCollective>(options, membership);
}

}  // namespace thinpipe::trainer
