// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/scaled_block.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/byte_blocks.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

constexpr auto collective_block = std::int64_t{ScaledBlock::entries};

struct Int8Options {
  std::string sum = "two_shot";
  std::int64_t block_size = collective_block;

  void visit(auto& field) {
    field("sum", sum,
          Rule{.effect =
                   "two_shot: owners of parts sum in float32, so an entry is rounded twice; each_hop: the "
                   "collective's own all-reduce, whose partial sums are rounded by every worker on the way",
               .one_of = {"two_shot", "each_hop"}});
    field("block_size", block_size, Rule{.effect = "entries that share a scale", .at_least = 1});
  }
};

// An all-reduce of bytes in two shots. The bucket has N equal parts, the last ones padded with zeros, and worker s owns
// part s:
//   scatter: to each owner Q(g_w[part]), by an all-to-all
//   owner:   m = (1/N)·Σ_w Q(g_w[part]), in float32, ranks ascending
//   gather:  out[part] = Q(m), by an all-gather
// Q rounds each block of a part to the nearest of 255 levels (byte_blocks.hh). So an entry is rounded twice, whatever N is; a
// ring whose hops carry bytes rounds it N times. Jaghouar et al., INTELLECT-1 Technical Report (2024).
// No state. Payload: N parts of p = ⌈n/N⌉ entries and then one, (N + 1)·(p + 4⌈p/block_size⌉) bytes.
class TwoShotInt8 : public Synchroniser {
 public:
  explicit TwoShotInt8(std::int64_t block_size) : code_(block_size) {}

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

// The collective's all-reduce of blocks of bytes: along a tree or around a ring, whose workers decode what they receive,
// add it to their own and round the sum again. An entry is rounded once at its worker and once for each partial sum: at
// most depth + 1 times along a tree, N times around a ring. The network carries each block as often as an all-reduce of
// float32 would, in a quarter of the bytes.
// No state. Payload: ⌈n/256⌉ blocks of 260 bytes.
class EachHopInt8 : public Synchroniser {
 public:
  MethodProperties properties() const override { return {.estimate = Estimate::biased}; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const torch::Tensor blocks = encode_scaled_blocks(floats(bucket.gradient));
    network.all_reduce(blocks, Reduction::scaled_sum);
    bucket.gradient.zero_();
    add_scaled_blocks(blocks, floats(bucket.gradient));
    bucket.gradient.div_(network.world_size());
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(scaled_block_bytes(bucket.size), world_size);
  }
};

THINPIPE_REGISTER(Synchroniser){
    "int8", "a byte per entry and a scale per block, summed in two shots or by the collective's all-reduce",
    describe_options<Int8Options>(),
    [](JsonObject& object, const SynchroniserContext& /*context*/) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<Int8Options>(object);
      if (options.sum == "two_shot") return std::make_unique<TwoShotInt8>(options.block_size);
      if (options.block_size != collective_block)
        throw InputError(object.place_of("block_size"),
                         fmt::format("must be {} if sums are rounded at each hop", collective_block));
      return std::make_unique<EachHopInt8>();
    }};

}  // namespace
}  // namespace thinpipe::trainer
