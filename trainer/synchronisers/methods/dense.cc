// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/compressor.hh"

namespace thinpipe::trainer {
namespace {

struct DenseOptions {
  void visit(auto& /*field*/) {}
};

// out = Σ_w g_w / N by all-reduce. As in DistributedDataParallel, the division comes first, so the sum cannot
// overflow unless the mean does. No state. Payload 4n bytes.
class Dense : public Compressor {
 public:
  MethodProperties properties() const override { return {.all_reduce_compatible = true}; }

  bool works_on_gpus() const override { return true; }

  // Reports the gradient itself as its message: wrappers must not compensate for the rounding of the
  // division.
  void exchange(Bucket& bucket, Collective& network, torch::Tensor* own) override {
    if (own != nullptr) *own = bucket.gradient.clone();
    bucket.gradient.div_(network.world_size());
    network.all_reduce(bucket.gradient, Reduction::sum);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(4 * bucket.size, world_size);
  }
};

THINPIPE_REGISTER(Synchroniser){"dense", "float32 all-reduce, bucketed and overlapped: the baseline",
                                describe_options<DenseOptions>(),
                                [](JsonObject& options, const SynchroniserContext& /*context*/) {
                                  read_options<DenseOptions>(options);
                                  return std::make_unique<Dense>();
                                }};

}  // namespace
}  // namespace thinpipe::trainer
