// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/byte_codes.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/compressor.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/bucket_draws.hh"
#include "trainer/synchronisers/quantised/scaled_blocks.hh"
#include "trainer/synchronisers/quantised/sums.hh"

namespace thinpipe::trainer {
namespace {

struct QsgdOptions {
  std::int64_t bits = 4;
  std::int64_t block_size = 512;
  std::string norm = "max";

  void visit(auto& field) {
    field("bits", bits,
          Rule{.effect = "bits per code, its sign included: 2, 4 or 8", .at_least = 2, .at_most = 8});
    field("block_size", block_size, Rule{.effect = "entries that share a scale", .at_least = 1});
    field("norm", norm,
          Rule{.effect = "a block's scale: max, its largest magnitude, or l2, its Euclidean norm as in the "
                         "paper's theory",
               .one_of = {"max", "l2"}});
  }
};

// For each block x of the bucket, with s = 2^(bits-1) - 1 levels:
//   ν = ‖x‖;  a = s·|x_i|/ν;  l = ⌊a⌋ + Bernoulli(a - ⌊a⌋);  x̂_i = sign(x_i)·ν·l/s;  out = (1/N)·Σ_w x̂_w
// Unbiased, |x̂_i - x_i| <= ν/s. Codes have a fixed width; the paper uses Elias codes. A block that is all
// zero is sent as zeros; published codes divide by its norm. Alistarh et al., QSGD (NeurIPS 2017).
// No state. Each worker contributes 4⌈n/block_size⌉ + ⌈n·bits/8⌉ bytes to an all-gather.
class Qsgd : public Compressor {
 public:
  Qsgd(const QsgdOptions& options, std::uint64_t seed)
      : bits_(static_cast<int>(options.bits)),
        blocks_(options.block_size),
        euclidean_(options.norm == "l2"),
        draws_(seed) {}

  MethodProperties properties() const override { return {.estimate = Estimate::unbiased}; }

  void begin_step(std::uint64_t step) override { draws_.begin_step(step); }

  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) override {
    gather_mean(
        encode(bucket, network.rank()),
        [this](const torch::Tensor& message, std::span<float> values) { add(message, values); }, bucket,
        network, own);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_gather_traffic(message_bytes(bucket.size), world_size);
  }

 private:
  std::int64_t message_bytes(std::int64_t n) const {
    return blocks_.scale_bytes(n) + packed_code_bytes(n, bits_);
  }

  // Returns infinity if an entry is not finite.
  float norm_of(std::span<const float> block) const {
    const float largest = largest_magnitude(block);
    if (!euclidean_ || std::isinf(largest)) return largest;
    return static_cast<float>(std::sqrt(sum_of(block, [](double x) { return x * x; })));
  }

  // Returns uint8: the blocks' scales, float32, then the codes.
  torch::Tensor encode(const Bucket& bucket, int rank) const {
    const torch::Tensor random = draws_.uniform(bucket, rank, bucket.size);
    const std::span<const float> uniform = floats(random);
    const std::span<const float> values = floats(bucket.gradient);
    std::vector<std::int8_t> codes(values.size());
    torch::Tensor message = torch::empty({message_bytes(bucket.size)}, torch::kByte);
    const auto bytes = elements<std::uint8_t>(message);
    const auto levels = static_cast<float>(largest_code(bits_));
    blocks_.write_scales(bytes, bucket.size, [&](std::size_t begin, std::size_t size) {
      const float norm = norm_of(values.subspan(begin, size));
      // All codes are then 0, which an infinite scale decodes to NaN.
      if (norm == 0 || std::isinf(norm)) return norm;
      for (std::size_t i = begin; i < begin + size; ++i) {
        const float level = std::min(levels * (std::abs(values[i]) / norm), levels);
        const auto whole = static_cast<std::int32_t>(level);
        const std::int32_t drawn = whole + (uniform[i] < level - static_cast<float>(whole) ? 1 : 0);
        codes[i] = static_cast<std::int8_t>(values[i] < 0 ? -drawn : drawn);
      }
      return norm;
    });
    pack_codes(codes, bits_, blocks_.codes_in(bytes, bucket.size));
    return message;
  }

  void add(const torch::Tensor& message, std::span<float> values) const {
    const std::int64_t n = std::ssize(values);
    const auto bytes = elements<std::uint8_t>(message);
    std::vector<std::int8_t> codes(values.size());
    unpack_codes(blocks_.codes_in(bytes, n), bits_, codes);
    blocks_.read_scales(bytes, n, [&](std::size_t begin, std::size_t size, float norm) {
      const float unit = norm / static_cast<float>(largest_code(bits_));
      for (std::size_t i = begin; i < begin + size; ++i) values[i] += unit * static_cast<float>(codes[i]);
    });
  }

  int bits_;
  ScaledBlocks blocks_;
  bool euclidean_;
  BucketDraws draws_;
};

THINPIPE_REGISTER(Synchroniser){
    "qsgd", "a few bits per entry, rounded at random and without bias to levels of its block's scale",
    describe_options<QsgdOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<QsgdOptions>(object);
      if (options.bits != 2 && options.bits != 4 && options.bits != 8) {
        throw InputError(object.place_of("bits"), fmt::format("must be 2, 4 or 8, but is {}", options.bits));
      }
      return std::make_unique<Qsgd>(options, context.seed);
    }};

}  // namespace
}  // namespace thinpipe::trainer
