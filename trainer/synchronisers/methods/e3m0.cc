// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "common/support/options.hh"
#include "trainer/base/byte_codes.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/scaled_blocks.hh"

namespace thinpipe::trainer {
namespace {

constexpr int bits = 4;
constexpr int largest_exponent_code = 7;

struct E3m0Options {
  std::int64_t block_size = 512;

  void visit(auto& field) {
    field("block_size", block_size, Rule{.effect = "entries that share a scale", .at_least = 1});
  }
};

// A float of four bits without a mantissa: a sign, and an exponent of three bits, in which Streaming DiLoCo sends changes of
// weights. For each block x of the bucket, with s = max|x|:
//   x̂_i = sign(x_i)·s·2^(c-7), c in 1…7, or 0 for c = 0: the nearest of these 15;  out = (1/N)·Σ_w x̂_w
// |x̂_i - x_i| <= max(|x_i|/3, s/128). The scale per block is ours: the paper does not say how its exponents are
// biased. Douillard et al., Streaming DiLoCo with overlapping communication (2025).
// No state. Each worker contributes 4⌈n/block_size⌉ + ⌈n/2⌉ bytes to an all-gather; sums are float32.
class E3m0 : public Compressor {
 public:
  explicit E3m0(const E3m0Options& options) : blocks_(options.block_size) {}

  MethodProperties properties() const override { return {.estimate = Estimate::biased}; }

  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) override {
    gather_mean(
        encode(floats(bucket.gradient)),
        [this](const torch::Tensor& message, std::span<float> values) { add(message, values); }, bucket,
        network, own);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_gather_traffic(message_bytes(bucket.size), world_size);
  }

 private:
  std::int64_t message_bytes(std::int64_t n) const {
    return blocks_.scale_bytes(n) + packed_code_bytes(n, bits);
  }

  // share: of the block's scale, at most 1.
  static std::int8_t code_of(float share) {
    if (share < 1.0F / 128) return 0;
    const int exponent = std::ilogb(share);
    const bool rounds_up = std::ldexp(share, -exponent) >= 1.5F;
    return static_cast<std::int8_t>(std::max(1, exponent + largest_exponent_code + (rounds_up ? 1 : 0)));
  }

  // Returns uint8: the blocks' scales, float32, then the codes.
  torch::Tensor encode(std::span<const float> values) const {
    std::vector<std::int8_t> codes(values.size());
    const std::int64_t n = std::ssize(values);
    torch::Tensor message = torch::empty({message_bytes(n)}, torch::kByte);
    const auto bytes = elements<std::uint8_t>(message);
    blocks_.write_scales(bytes, n, [&](std::size_t begin, std::size_t size) {
      const float scale = largest_magnitude(values.subspan(begin, size));
      // All codes are then 0, which an infinite scale decodes to NaN.
      if (scale == 0 || std::isinf(scale)) return scale;
      for (std::size_t i = begin; i < begin + size; ++i) {
        const std::int8_t code = code_of(std::abs(values[i]) / scale);
        codes[i] = static_cast<std::int8_t>(values[i] < 0 ? -code : code);
      }
      return scale;
    });
    pack_codes(codes, bits, blocks_.codes_in(bytes, n));
    return message;
  }

  void add(const torch::Tensor& message, std::span<float> values) const {
    const std::int64_t n = std::ssize(values);
    const auto bytes = elements<std::uint8_t>(message);
    std::vector<std::int8_t> codes(values.size());
    unpack_codes(blocks_.codes_in(bytes, n), bits, codes);
    blocks_.read_scales(bytes, n, [&](std::size_t begin, std::size_t size, float scale) {
      for (std::size_t i = begin; i < begin + size; ++i) {
        const int code = codes[i];
        const float share = code == 0
                                ? 0
                                : std::copysign(std::ldexp(1.0F, std::abs(code) - largest_exponent_code),
                                                static_cast<float>(code));
        values[i] += scale * share;
      }
    });
  }

  ScaledBlocks blocks_;
};

THINPIPE_REGISTER(Synchroniser){
    "e3m0", "four bits per entry: a sign and an exponent, relative to its block's largest entry",
    describe_options<E3m0Options>(), [](JsonObject& object, const SynchroniserContext& /*context*/) {
      return std::make_unique<E3m0>(read_options<E3m0Options>(object));
    }};

}  // namespace
}  // namespace thinpipe::trainer
