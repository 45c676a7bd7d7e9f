#include "harness/support/options.hh"
#include "trainer/synchronisers/error_feedback.hh"
#include "trainer/synchronisers/sign_compressor.hh"

namespace thinpipe::trainer {
namespace {

struct OneBitOptions {
  std::string scale = "tensor";

  void visit(auto& field) {
    field("scale", scale,
          Rule{.effect =
                   "entries that share the two numbers their signs stand for: a tensor's, or those of each "
                   "row of a matrix, which are the weights of one output",
               .one_of = {"tensor", "row"}});
  }
};

// The two means that a group's signs stand for. Infinite or NaN with their values: a NaN is in no order, and
// so counts as negative.
class TwoMeans : public SignCompressor {
 public:
  TwoMeans(const SynchroniserContext& context, SignGroup group)
      : SignCompressor(context, group, LevelNumbers::two) {}

 protected:
  SignLevels levels_of(std::span<const float> values) const override {
    double positive_sum = 0;
    double negative_sum = 0;
    std::size_t positives = 0;
    for (const float value : values) {
      const bool positive = value >= 0;
      (positive ? positive_sum : negative_sum) += value;
      if (positive) ++positives;
    }
    return {.negative = mean(negative_sum, values.size() - positives),
            .positive = mean(positive_sum, positives)};
  }

 private:
  static float mean(double sum, std::size_t count) {
    return count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count));
  }
};

// 1-bit SGD. Of each group of entries, a parameter's or a row's:
//   acc = g + e;  c⁺ = mean of acc >= 0;  c⁻ = mean of acc < 0, of none 0
//   x̂_i = c⁺ where acc_i >= 0, else c⁻;  e' = acc - x̂;  out = (1/N)·Σ_w x̂_w
// The paper groups by the columns of its matrices; here a row, the weights of one output, lies together. A
// zero counts as positive. What pruning took neither travels nor counts. Every worker's message goes to all;
// the paper lets one worker add up each part and compresses the sums a second time. Seide et al., 1-Bit
// Stochastic Gradient Descent (Interspeech 2014).
//
// State: e, float32 [n]. Each worker contributes 8G + ⌈n/8⌉ bytes to an all-gather, G groups, n entries that
// are kept.
const Registration<Synchroniser, const SynchroniserContext&> one_bit_registration{
    "one_bit", "1-bit SGD: signs that stand for the mean of each sign, with error feedback",
    describe_options<OneBitOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<OneBitOptions>(object);
      const SignGroup group = options.scale == "row" ? SignGroup::row : SignGroup::tensor;
      return std::make_unique<ErrorFeedback>(std::make_unique<TwoMeans>(context, group),
                                             ResidualUnits::gradient, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
