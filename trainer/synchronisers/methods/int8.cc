#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/byte_blocks.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct Int8Options {
  std::int64_t block_size = 256;

  void visit(auto& field) {
    field("block_size", block_size, Rule{.effect = "entries that share a scale", .at_least = 1});
  }
};

// An all-reduce of bytes in two shots. The bucket has N equal parts, the last ones padded with zeros, and worker s owns
// part s:
//   scatter: to each owner Q(g_w[part]), by an all-to-all
//   owner:   m = (1/N)·Σ_w Q(g_w[part]), in float32, ranks ascending
//   gather:  out[part] = Q(m), by an all-gather
// Q rounds each block of a part to the nearest of 255 levels (byte_blocks.hh). So an entry is rounded twice, whatever N is; a
// ring whose hops carry bytes would round it N - 1 times. Jaghouar et al., INTELLECT-1 Technical Report (2024).
// No state. Payload: N parts of p = ⌈n/N⌉ entries and then one, (N + 1)·(p + 4⌈p/block_size⌉) bytes.
class Int8 : public Synchroniser {
 public:
  explicit Int8(const Int8Options& options) : code_(options.block_size) {}

  MethodProperties properties() const override { return {.estimate = Estimate::biased}; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int world_size = network.world_size();
    const std::int64_t part = part_size(bucket.size, world_size);
    torch::Tensor padded = torch::zeros({part * world_size});
    padded.narrow(0, 0, bucket.size).copy_(bucket.gradient);

    torch::Tensor mean = torch::zeros({part});
    for (const torch::Tensor& theirs : scatter(padded, network)) code_.add(theirs, floats(mean));
    mean.div_(world_size);

    padded.zero_();
    const Messages means = gather_equal(code_.encode(floats(mean)), network);
    for (int owner = 0; owner < world_size; ++owner)
      code_.add(means[owner], floats(padded.narrow(0, owner * part, part)));
    bucket.gradient.copy_(padded.narrow(0, 0, bucket.size));
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const std::int64_t message = code_.bytes(part_size(bucket.size, world_size));
    return all_to_all_traffic(world_size * message, world_size) + all_gather_traffic(message, world_size);
  }

 private:
  static std::int64_t part_size(std::int64_t n, int world_size) { return (n + world_size - 1) / world_size; }

  // Returns every worker's message about this worker's part.
  Messages scatter(const torch::Tensor& padded, Collective& network) const {
    const int world_size = network.world_size();
    const std::int64_t part = padded.numel() / world_size;
    Messages outgoing;
    for (int owner = 0; owner < world_size; ++owner)
      outgoing.push_back(code_.encode(floats(padded.narrow(0, owner * part, part))));
    return exchange_equal(outgoing, network);
  }

  ByteBlocks code_;
};

THINPIPE_REGISTER(Synchroniser){
    "int8", "a byte per entry and a scale per block, summed in two shots, so each entry is rounded twice",
    describe_options<Int8Options>(), [](JsonObject& object, const SynchroniserContext& /*context*/) {
      return std::make_unique<Int8>(read_options<Int8Options>(object));
    }};

}  // namespace
}  // namespace thinpipe::trainer
