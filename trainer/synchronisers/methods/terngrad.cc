// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "common/support/options.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/bucket_draws.hh"
#include "trainer/synchronisers/quantised/code_exchange.hh"
#include "trainer/synchronisers/quantised/layer_parts.hh"
#include "trainer/synchronisers/quantised/ternary.hh"

namespace thinpipe::trainer {
namespace {

struct TernGradOptions {
  std::string exchange = "auto";
  double clip = 2.5;

  void visit(auto& field) {
    field("exchange", exchange,
          Rule{.effect = "how codes are sent: all_gather, 2 bits each; all_reduce of sums; auto, whichever "
                         "loads the network less; all give the same result",
               .one_of = {"auto", "all_gather", "all_reduce"}});
    field("clip", clip,
          Rule{.effect = "entries are clipped at this many standard deviations of their layer; 0: never",
               .at_least = 0});
  }
};

constexpr int ternary_bits = 2;

// For each layer l of the bucket, which is a parameter:
//   ĝ = clamp(g, -c·σ, c·σ), σ the population's standard deviation;  s = max over workers of max|ĝ|
//   t_i = sign(ĝ_i)·Bernoulli(|ĝ_i| / s);  out = (s/N)·Σ_w t
// Unbiased for the mean of ĝ, and so for the mean of g without clipping. As in the paper, workers share
// scales so that codes can be summed. The published code draws up to c·σ instead of max|ĝ|, which clips
// larger entries and is sparser; this code follows the paper. Layers that have fewer than 16 entries or
// hardly vary around their mean are not clipped: σ is then no measure of their magnitude. Wen et al.,
// TernGrad (NeurIPS 2017).
//
// No state. Payload 4L + ⌈n/4⌉ bytes by all-gather, 4L + n by all-reduce, for L layers. Around a ring of 8
// workers both send the same number of bytes; along a tree sums need fewer bits.
class TernGrad : public Compressor {
 public:
  TernGrad(const TernGradOptions& options, const SynchroniserContext& context)
      : options_(options),
        sums_(sums_codes(options.exchange, context.network, ternary_bits)),
        draws_(context.seed) {}

  MethodProperties properties() const override {
    return {.estimate = options_.clip > 0 ? Estimate::biased : Estimate::unbiased,
            .all_reduce_compatible = sums_};
  }

  std::optional<int> max_workers() const override { return max_workers_of_code_sums(1); }

  void begin_step(std::uint64_t step) override { draws_.begin_step(step); }

  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) override {
    const torch::Tensor scales = torch::empty({std::ssize(bucket.slices)});
    for (std::size_t l = 0; l < bucket.slices.size(); ++l) {
      floats(scales)[l] = clip(bucket.view(bucket.slices[l]));
    }
    network.all_reduce(scales, Reduction::max);

    const std::vector<std::size_t> layer_ends = layer_ends_of(bucket);
    const torch::Tensor codes = torch::empty({bucket.size}, torch::kChar);
    if (own != nullptr) *own = torch::empty({bucket.size});
    const auto produce = [&](std::size_t begin, std::size_t end) {
      std::vector<float> uniform(end - begin);
      draws_.fill_uniform_from(bucket, network.rank(), begin, uniform);
      for_each_layer_part(layer_ends, begin, end, [&](std::size_t l, std::size_t from, std::size_t size) {
        draw_ternary(floats(bucket.gradient).subspan(from, size), floats(scales)[l],
                     std::span(uniform).subspan(from - begin, size),
                     elements<std::int8_t>(codes).subspan(from, size));
      });
      if (own != nullptr) expand({layer_ends, begin, end}, codes, scales, 1, *own);
    };
    const auto consume = [&](std::size_t begin, std::size_t end) {
      expand({layer_ends, begin, end}, codes, scales, network.world_size(), bucket.gradient);
    };
    if (!sums_) {
      const auto all = static_cast<std::size_t>(bucket.size);
      produce(0, all);
      sum_by_gathering(codes, network);
      consume(0, all);
    } else {
      network.all_reduce_quantised(codes, 1, {.produce = produce, .consume = consume});
    }
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const ExpectedTraffic scales = all_reduce_traffic(4 * std::ssize(bucket.slices), world_size);
    if (!sums_) return scales + all_gather_traffic(packed_code_bytes(bucket.size, ternary_bits), world_size);
    return scales + all_reduce_quantised_traffic(bucket.size, 1, world_size);
  }

 private:
  // Replaces g by ĝ. Returns max|ĝ|, or infinity if an entry is not finite.
  float clip(const torch::Tensor& layer) const {
    const float scale = clipped_ternary_scale(floats(layer), options_.clip);
    if (options_.clip > 0 && std::isfinite(scale)) layer.clamp_(-scale, scale);
    return scale;
  }

  static std::vector<std::size_t> layer_ends_of(const Bucket& bucket) {
    std::vector<std::size_t> ends;
    for (const Slice& slice : bucket.slices)
      ends.push_back(static_cast<std::size_t>(slice.offset + slice.size));
    return ends;
  }

  // The entries of a bucket in [begin, end).
  struct Chunk {
    std::span<const std::size_t> layer_ends;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // Sets the chunk's values to (s/divisor)·codes, with each layer's s.
  static void expand(const Chunk& chunk, const torch::Tensor& codes, const torch::Tensor& scales, int divisor,
                     const torch::Tensor& values) {
    for_each_layer_part(chunk.layer_ends, chunk.begin, chunk.end,
                        [&](std::size_t l, std::size_t begin, std::size_t size) {
                          expand_ternary(elements<std::int8_t>(codes).subspan(begin, size),
                                         floats(scales)[l] / static_cast<float>(divisor),
                                         floats(values).subspan(begin, size));
                        });
  }

  // Replaces the codes by their sums over workers.
  static void sum_by_gathering(const torch::Tensor& codes, Collective& network) {
    const std::int64_t bytes = packed_code_bytes(codes.numel(), ternary_bits);
    const torch::Tensor packed = torch::empty({bytes}, torch::kByte);
    pack_codes(elements<std::int8_t>(codes), ternary_bits, elements<std::uint8_t>(packed));
    codes.zero_();
    const torch::Tensor part = torch::empty_like(codes);
    for (const torch::Tensor& message : gather_equal(packed, network)) {
      unpack_codes(elements<std::uint8_t>(message), ternary_bits, elements<std::int8_t>(part));
      codes.add_(part);
    }
  }

  TernGradOptions options_;
  bool sums_;
  BucketDraws draws_;
};

THINPIPE_REGISTER(Synchroniser){
    "terngrad", "ternary codes with a scale per layer, drawn without bias after clipping",
    describe_options<TernGradOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<TernGrad>(read_options<TernGradOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
