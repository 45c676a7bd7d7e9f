// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "common/support/options.hh"
#include "trainer/synchronisers/error_feedback.hh"
#include "trainer/synchronisers/quantised/sign_compressor.hh"
#include "trainer/synchronisers/quantised/sums.hh"

namespace thinpipe::trainer {
namespace {

struct OneBitOptions {
  std::string scale = "tensor";

  void visit(auto& field) {
    field("scale", scale,
          Rule{.effect =
                   "entries that share two decoded values, one per sign: those of a tensor, or of each row "
                   "of a matrix (the weights of one output)",
               .one_of = {"tensor", "row"}});
  }
};

// The two means that a group's signs decode to; NaN if a value is not finite.
class TwoMeans : public SignCompressor {
 public:
  TwoMeans(const SynchroniserContext& context, SignGroup group)
      : SignCompressor(context, group, LevelNumbers::two) {}

 protected:
  SignLevels levels_of(std::span<const float> values) const override {
    double positive_sum = 0;
    double negative_sum = 0;
    std::size_t positives = 0;
    for (std::span<const float> rest = values; !rest.empty();) {
      const std::span<const float> block = rest.first(std::min(rest.size(), block_size));
      positive_sum += sum_of(block, positive_part);
      negative_sum += sum_of(block, negative_part);
      positives += count_positive(block);
      rest = rest.subspan(block.size());
    }
    if (!std::isfinite(positive_sum + negative_sum)) return {.negative = NAN, .positive = NAN};
    return {.negative = mean(negative_sum, values.size() - positives),
            .positive = mean(positive_sum, positives)};
  }

 private:
  static constexpr std::size_t block_size = 1024;  // stays in the L1 cache between the sums

  // Branch-free, by the sign bit, because the signs of gradients are unpredictable.
  static float positive_part(float value) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return std::bit_cast<float>(bits & ~(bits >> 31));
  }
  static float negative_part(float value) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return std::bit_cast<float>(bits & (bits >> 31));
  }

  // Counts the values whose sign is sent as positive, including zeros of either sign.
  static std::size_t count_positive(std::span<const float> block) {
    std::int32_t count = 0;
    for (const float value : block) count += value >= 0 ? 1 : 0;
    return static_cast<std::size_t>(count);
  }

  static float mean(double sum, std::size_t count) {
    return count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count));
  }
};

// 1-bit SGD. For each group of entries, those of a parameter or of a row:
//   acc = g + e;  c⁺ = mean of acc >= 0;  c⁻ = mean of acc < 0, of none 0
//   x̂_i = c⁺ where acc_i >= 0, else c⁻;  e' = acc - x̂;  out = (1/N)·Σ_w x̂_w
// The paper groups by the columns of its matrices; here a row, the weights of one output, is contiguous. A
// zero counts as positive. Pruned entries are neither sent nor counted. Every worker sends its message to all
// others; in the paper one worker adds up each part and compresses the sums again. Seide et al., 1-Bit
// Stochastic Gradient Descent (Interspeech 2014).
//
// State: e, float32 [n]. Each worker contributes 8G + ⌈n/8⌉ bytes to an all-gather, for G groups and n kept
// entries.
THINPIPE_REGISTER(Synchroniser){
    "one_bit", "1-bit SGD: signs, decoded as the mean of each sign, with error feedback",
    describe_options<OneBitOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<OneBitOptions>(object);
      const SignGroup group = options.scale == "row" ? SignGroup::row : SignGroup::tensor;
      return std::make_unique<ErrorFeedback>(std::make_unique<TwoMeans>(context, group),
                                             ResidualUnits::gradient, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
