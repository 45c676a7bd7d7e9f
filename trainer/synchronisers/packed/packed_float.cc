// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/packed_exchange.hh"

namespace thinpipe::trainer {
namespace {

// buffer = gather(g)/N, plus a flag that is set if any entry elsewhere is non-zero. The sum over workers is
// the mean, exact on the pattern.
class FloatExchange : public PackedExchange {
 public:
  Estimate estimate() const override { return Estimate::exact; }

  bool packs_whole() const override { return false; }

  bool exchange(Bucket& bucket, const PackedLayout& layout, Collective& network) override {
    torch::Tensor buffer = torch::empty({layout.entries.packed_size() + 1});
    const std::span<float> values = floats(buffer);
    const auto workers =
        static_cast<float>(network.world_size());  // a divisor, to get the bits of the dense mean
    values.back() = layout.entries.gather(floats(bucket.gradient), workers, values) > 0 ? 1.0F : 0.0F;
    network.all_reduce(buffer, Reduction::sum);
    if (values.back() != 0.0F) return false;
    layout.entries.scatter(values, floats(bucket.gradient));
    return true;
  }

  ExpectedTraffic traffic(const PackedLayout& layout, int world_size) const override {
    return all_reduce_traffic(4 * (layout.entries.packed_size() + 1), world_size);
  }
};

}  // namespace

std::unique_ptr<PackedExchange> make_float_exchange() {
  return std::make_unique<FloatExchange>();
}

}  // namespace thinpipe::trainer
