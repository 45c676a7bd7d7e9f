// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct Bf16Options {
  void visit(auto& /*field*/) {}
};

// h = bfloat16(g/N), with the division in float32; all-reduce of h, out = float(h). bfloat16 has float32's
// range, so nothing overflows and no scale is needed. Every hop rounds to 8 significant bits: the error is at
// most (N-1)·2^-8·Σ|h|.
// No state. Payload 2n bytes.
class Bf16 : public Synchroniser {
 public:
  MethodProperties properties() const override {
    return {.estimate = Estimate::rounded, .relative_rounding = 0x1p-8, .all_reduce_compatible = true};
  }

  bool works_on_gpus() const override { return true; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const torch::Tensor rounded = bucket.gradient.div_(network.world_size()).to(torch::kBFloat16);
    network.all_reduce(rounded, Reduction::sum);
    bucket.gradient.copy_(rounded);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(2 * bucket.size, world_size);
  }
};

THINPIPE_REGISTER(Synchroniser){"bf16", "bfloat16 all-reduce: half the bytes, float32's range",
                                describe_options<Bf16Options>(),
                                [](JsonObject& options, const SynchroniserContext& /*context*/) {
                                  read_options<Bf16Options>(options);
                                  return std::make_unique<Bf16>();
                                }};

}  // namespace
}  // namespace thinpipe::trainer
