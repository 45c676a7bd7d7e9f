// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct Fp16Options {
  std::string variant = "scaled";
  double scale = 1024;

  void visit(auto& field) {
    field("variant", variant,
          Rule{.effect =
                   "scaled: with a loss scale; pytorch: like DistributedDataParallel's fp16_compress_hook, "
                   "which rounds the gradient before dividing it by the number of workers",
               .one_of = {"scaled", "pytorch"}});
    field("scale", scale,
          Rule{.effect = "for scaled: initial loss scale, a power of two; gradients are multiplied by it "
                         "before rounding to half precision",
               .at_least = 1,
               .at_most = 32768});
  }
};

constexpr MethodProperties fp16_properties{
    .estimate = Estimate::rounded, .relative_rounding = 0x1p-11, .all_reduce_compatible = true};

// x = g · (σ/N) in float32, h = half(x), all-reduce of h in half precision, out = float(h) / σ.
// σ keeps small gradients out of half precision's subnormal range. It is halved after a step that overflowed
// anywhere, which every worker sees because the sum is non-finite everywhere, and doubled after 2000 good
// steps. State: σ. Payload 2n bytes. Every hop of the ring rounds to half: the error is at most
// (N-1)·2^-11·Σ|h|.
class Fp16 : public Synchroniser {
 public:
  explicit Fp16(double scale) : scale_(scale) {}

  MethodProperties properties() const override { return fp16_properties; }

  bool works_on_gpus() const override { return true; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const torch::Tensor half = bucket.gradient.mul_(scale_ / network.world_size()).to(torch::kHalf);
    network.all_reduce(half, Reduction::sum);
    bucket.gradient.copy_(half).div_(scale_);
  }

  void finish_step(bool applied) override {
    good_steps_ = applied ? good_steps_ + 1 : 0;
    if (!applied) scale_ = std::max(1.0, scale_ / 2);
    if (good_steps_ == kGrowthInterval) {
      scale_ = std::min(kLargestScale, scale_ * 2);
      good_steps_ = 0;
    }
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(2 * bucket.size, world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    state[prefix + "scale"] = torch::tensor({scale_, static_cast<double>(good_steps_)}, torch::kDouble);
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    const torch::Tensor saved =
        expect_tensor(state, prefix + "scale", torch::empty({2}, torch::kDouble), "checkpoint");
    scale_ = saved[0].item<double>();
    good_steps_ = static_cast<std::int64_t>(saved[1].item<double>());
  }

 private:
  static constexpr std::int64_t kGrowthInterval = 2000;
  static constexpr double kLargestScale = 32768;

  double scale_;
  std::int64_t good_steps_ = 0;
};

// h = half(g) / N in half precision, all-reduce of h, out = float(h). A gradient above 65504 becomes
// infinite, and one whose share g/N is below 3e-8 becomes 0. No state. Payload 2n bytes.
class PyTorchFp16 : public Synchroniser {
 public:
  MethodProperties properties() const override { return fp16_properties; }

  bool works_on_gpus() const override { return true; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const torch::Tensor half = bucket.gradient.to(torch::kHalf).div_(network.world_size());
    network.all_reduce(half, Reduction::sum);
    bucket.gradient.copy_(half);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(2 * bucket.size, world_size);
  }
};

THINPIPE_REGISTER(Synchroniser){
    "fp16", "half-precision all-reduce, with a loss scale or like PyTorch's hook",
    describe_options<Fp16Options>(),
    [](JsonObject& object, const SynchroniserContext& /*context*/) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<Fp16Options>(object);
      if (std::exp2(std::round(std::log2(options.scale))) != options.scale) {
        throw InputError(object.place_of("scale"),
                         fmt::format("must be a power of two, but is {}", options.scale));
      }
      if (options.variant == "pytorch" && options.scale != Fp16Options{}.scale) {
        throw InputError(object.place_of("scale"),
                         "has no effect with \"variant\": \"pytorch\"; remove one of them");
      }
      if (options.variant == "pytorch") return std::make_unique<PyTorchFp16>();
      return std::make_unique<Fp16>(options.scale);
    }};

}  // namespace
}  // namespace thinpipe::trainer
