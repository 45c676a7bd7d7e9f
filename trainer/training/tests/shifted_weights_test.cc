// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/shifted_weights.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"

namespace thinpipe::trainer {
namespace {

// Shifts every weight by the same number.
class Shifting : public Synchroniser {
 public:
  Shifting(std::vector<ParameterInfo> parameters, float shift)
      : parameters_(std::move(parameters)), shift_(shift) {}

  MethodProperties properties() const override { return {}; }
  bool shifts_evaluation() const override { return true; }
  torch::Tensor evaluation_shift(std::size_t parameter) const override {
    return torch::full({parameters_[parameter].size}, shift_);
  }
  void synchronise(Bucket& /*bucket*/, Collective& /*network*/) override {}
  ExpectedTraffic traffic(const Bucket& /*bucket*/, int /*world_size*/) const override { return {}; }

 private:
  std::vector<ParameterInfo> parameters_;
  float shift_;
};

TEST(ShiftedWeights, RestoresEveryBit) {
  // Adding a large number and subtracting it again would round each of these to 0.
  const torch::Tensor weights =
      torch::tensor({{1e-8F, -0.0F, 3e-39F}, {-1e-20F, 0.1F, 0.0F}}).requires_grad_();
  const torch::Tensor before = weights.detach().clone();
  const Shifting method({{.name = "w", .size = 6}}, 1e9F);
  {
    const ShiftedWeights shifted({weights}, method);
    EXPECT_TRUE(weights.detach().equal(torch::full({2, 3}, 1e9F)));
  }
  EXPECT_TRUE(weights.detach().view(torch::kInt).equal(before.view(torch::kInt)));
}

TEST(ShiftedWeights, AreRestoredIfTheGradientFails) {
  const torch::Tensor weights = torch::tensor({1.0F, 2.0F});
  const Shifting method({{.name = "w", .size = 2}}, 0.5F);
  EXPECT_THROW(
      {
        const ShiftedWeights shifted({weights}, method);
        throw Error("out of memory");
      },
      Error);
  EXPECT_TRUE(weights.equal(torch::tensor({1.0F, 2.0F})));
}

TEST(ShiftedWeights, AreNotTouchedIfTheMethodDoesNotShift) {
  const torch::Tensor weights = torch::tensor({1.0F, 2.0F});
  const auto method = SynchroniserRegistry::instance().make(
      {{"name", "gmc"}}, {"test", ""},
      {.parameters = {{.name = "w", .size = 2}}, .kept = {torch::Tensor()}, .weights = {weights}});
  const auto version = weights._version();
  { const ShiftedWeights shifted({weights}, *method); }
  EXPECT_EQ(weights._version(), version);
}

// One worker minimises f(w) = |w|²/2, whose gradient at w is w. GMC+ keeps one of two entries, with λ = 1/2,
// μ = 1/2 and η = 1/4, in numbers that float32 holds exactly. Buckets are synchronised while the weights are
// shifted, as during backward: the movement must still be that of the weights themselves.
//   step  w before        gradient at      movement term  e before     acc
//   1     (8, 2)          (8, 2)           -              (0, 0)       (8, 2)
//   2     (6, 2)          (6, 1.75)        (4, 0)         (0, 2)       (10, 3.75)
//   3     (3.5, 2)        (3.5, 1.53125)   (5, 0)         (0, 3.75)    (8.5, 5.28125)
//   4     (1.375, 2)      (1.375, 1.33984375)  (4.25, 0)  (0, 5.28125) (5.625, 6.62109375)
TEST(ShiftedWeights, GiveGmcPlusItsGradientsAtTheDetachedPoint) {
  const torch::Tensor weights = torch::tensor({8.0F, 2.0F});
  const Json options = {{"name", "gmc"}, {"ratio", 0.5}, {"momentum", 0.5}, {"detached", 0.5}};
  const auto method = SynchroniserRegistry::instance().make(
      options, {"test", ""},
      {.parameters = {{.name = "w", .size = 2, .dimensions = 2, .rows = 1}},
       .kept = {torch::Tensor()},
       .weights = {weights}});
  Bucket bucket{.size = 2, .slices = {{.parameter = 0, .offset = 0, .size = 2}}};
  method->prepare({bucket});
  const std::vector<torch::Tensor> sent = {torch::tensor({8.0F, 0.0F}), torch::tensor({10.0F, 0.0F}),
                                           torch::tensor({8.5F, 0.0F}), torch::tensor({0.0F, 6.62109375F})};
  run_in_process(1, [&](Collective& network) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const torch::Tensor before = weights.clone();
      method->set_learning_rate(0.25);
      method->begin_step(i + 1);
      {
        const ShiftedWeights shifted({weights}, *method);
        bucket.gradient = weights.clone();
        method->synchronise(bucket, network);
      }
      EXPECT_TRUE(weights.equal(before)) << "step " << i + 1;
      EXPECT_TRUE(bucket.gradient.equal(sent[i])) << "step " << i + 1 << ": " << bucket.gradient;
      method->finish_step(true);
      weights.sub_(bucket.gradient, 0.25);
    }
  });
  EXPECT_TRUE(weights.equal(torch::tensor({1.375F, 2 - 6.62109375F / 4})));
}

}  // namespace
}  // namespace thinpipe::trainer
