// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/support/options.hh"
#include "trainer/synchronisers/quantised/sign_compressor.hh"
#include "trainer/synchronisers/quantised/sums.hh"

namespace thinpipe::trainer {
namespace {

struct ScaledSignOptions {
  void visit(auto& /*field*/) {}
};

// For each parameter p of the bucket, with n the number of its entries that pruning kept:
//   s = ‖p‖₁ / n;  x̂_i = s where p_i >= 0, else -s;  out = (1/N)·Σ_w x̂_w
// This is EF-signSGD's compressor, meant for use inside `ef`, which corrects the bias: ‖x̂ - p‖² = ‖p‖² -
// ‖p‖₁²/n. A zero is sent as a positive sign, as in the papers' one-bit codes; a parameter that is all zero
// stays zero, because its scale is 0. Pruned entries are neither sent nor counted in n. Bernstein et al.,
// signSGD (ICML 2018); Karimireddy et al., Error Feedback Fixes SignSGD (ICML 2019).
// No state. Each worker contributes 4L + ⌈n/8⌉ bytes to an all-gather, for L parameters and n kept entries.
class ScaledSign : public SignCompressor {
 public:
  explicit ScaledSign(const SynchroniserContext& context)
      : SignCompressor(context, SignGroup::tensor, LevelNumbers::one) {}

 protected:
  SignLevels levels_of(std::span<const float> values) const override {
    if (values.empty()) return {};
    const double sum = sum_of(values, [](float value) { return std::abs(value); });
    const auto scale = static_cast<float>(sum / static_cast<double>(values.size()));
    return {.negative = -scale, .positive = scale};
  }
};

THINPIPE_REGISTER(Synchroniser){
    "scaled_sign", "a sign per entry and a scale per tensor; the usual compressor inside ef",
    describe_options<ScaledSignOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      read_options<ScaledSignOptions>(options);
      return std::make_unique<ScaledSign>(context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
