// SPDX-License-Identifier: Apache-2.0
// Pruning while gradients are exchanged: masks that change, and state that they must not change.
#include "trainer/exchange/gradient_exchange.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/pruning/enforcement.hh"
#include "trainer/synchronisers/tests/every_method.hh"

namespace thinpipe::trainer {
namespace {

// Two linear layers with normalisation between them; the same weights in every thread. Biases and the scales
// of the normalisation are initially zero.
class Net : public Model {
 public:
  Net() {
    const torch::NoGradGuard no_grad;
    double phase = 0;
    for (const auto& item : named_parameters()) {
      torch::Tensor parameter = item.value();
      if (parameter.dim() > 1) {
        const torch::Tensor angles = torch::arange(parameter.numel()) + (phase += 0.3);
        parameter.copy_(angles.mul(1.7).sin().view(parameter.sizes()));
      } else {
        parameter.zero_();
      }
    }
    norm->weight[0] = 1;    // otherwise no gradient would reach the first layer
    fc1->weight[0][2] = 0;  // kept, and zero by chance
  }

  torch::Tensor forward(const torch::Tensor& inputs) override { return fc2(norm(fc1(inputs))); }
  std::string head() const override { return "fc2"; }

  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(4, 3));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(3));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(3, 2));
};

Mask half() {
  return Mask(
      {{"fc1.weight", torch::tensor({1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0}).to(torch::kBool).view({3, 4})},
       {"fc2.weight", torch::tensor({1, 0, 1, 0, 1, 1}).to(torch::kBool).view({2, 3})}});
}

Mask other_half() {
  Mask mask = half();
  for (const Mask::Layer& layer : mask.layers()) layer.keep.logical_not_();
  return mask;
}

// Returns the weights that masks can prune.
torch::Tensor prunable_weights(const Net& model) {
  return torch::cat({model.fc1->weight.detach().flatten(), model.fc2->weight.detach().flatten()});
}

// One worker's training run, with momentum, so that the optimiser has state.
class Training {
 public:
  Training(const Json& method, const Mask& mask, Collective& network)
      : metered_(std::make_unique<trainer::Borrowed>(network)), rank_(network.rank()) {
    mask.apply(model_);
    exchange_ = std::make_unique<GradientExchange>(
        model_, mask,
        SynchroniserRegistry::instance().make(method, {"test", ""},
                                              {.parameters = parameter_infos(model_),
                                               .kept = kept_masks(model_, mask),
                                               .weights = model_.parameters(),
                                               .seed = 1}),
        metered_, BucketOptions{.first_size_bytes = 16, .size_bytes = 64});
    const double momentum = exchange_->synchroniser().properties().applies_momentum ? 0 : 0.9;
    optimiser_ = std::make_unique<torch::optim::SGD>(
        model_.parameters(), torch::optim::SGDOptions(0.01).momentum(momentum).weight_decay(0.01));
  }

  void adopt(const Mask& mask) {
    enforce(mask, model_, *optimiser_);
    exchange_->adopt_mask(mask);
  }

  void take_steps(int steps) {
    for (int step = 0; step < steps; ++step, ++taken_) {
      const torch::Tensor inputs = torch::arange(24).mul(2.3).add(taken_ + 10 * rank_).cos().view({6, 4});
      exchange_->begin_step();
      (model_.forward(inputs) - 1).square().sum().backward();
      const StepReport report = exchange_->finish_step();
      ASSERT_TRUE(report.applied);
      EXPECT_GT(report.first_bucket_s, 0);
      optimiser_->step();
    }
  }

  double payload_bytes() const {
    double bytes = 0;
    for (const Bucket& bucket : exchange_->layout()) {
      bytes += exchange_->synchroniser().traffic(bucket, metered_.world_size()).payload_bytes;
    }
    return bytes;
  }

  Net& model() { return model_; }
  GradientExchange& exchange() { return *exchange_; }

 private:
  Net model_;
  MeteredCollective metered_;
  int rank_;
  int taken_ = 0;
  std::unique_ptr<GradientExchange> exchange_;
  std::unique_ptr<torch::optim::SGD> optimiser_;
};

struct ExchangedMethod {
  std::string name;
  Json options;
};

class ExchangeOfEveryMethod : public ::testing::TestWithParam<ExchangedMethod> {};

TEST_P(ExchangeOfEveryMethod, KeepsPrunedWeightsAtZeroThroughChangesOfTheMask) {
  run_in_process(3, [&](Collective& network) {
    Training training(GetParam().options, Mask::keep_all(Net()), network);
    training.take_steps(5);
    for (const Mask& mask : {half(), other_half(), half()}) {
      training.adopt(mask);
      const torch::Tensor before = prunable_weights(training.model());
      training.take_steps(5);
      EXPECT_NO_THROW(check_pruned_weights_are_zero(mask, training.model()));
      // Not only one layer's weights: with the other half kept, both layers start at zero, and topk sends few
      // entries.
      EXPECT_FALSE(prunable_weights(training.model()).equal(before));
      EXPECT_TRUE(testing::identical_on_all(network, training.model().fc1->weight.detach().flatten()));
    }
  });
}

// Methods that exchange changes of weights are in local_rounds_test.cc.
std::vector<ExchangedMethod> exchanged_methods() {
  std::vector<ExchangedMethod> out;
  for (const Json& method : testing::every_method()) {
    const auto made = SynchroniserRegistry::instance().make(method, {"test", ""}, {});
    if (!made->local_steps()) out.push_back({method["name"], method});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, ExchangeOfEveryMethod, ::testing::ValuesIn(exchanged_methods()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Variants, ExchangeOfEveryMethod,
    ::testing::Values(
        ExchangedMethod{"pactrain_observed",
                        {{"name", "pactrain"}, {"source", "observed"}, {"stable_iterations", 1}}},
        ExchangedMethod{"pactrain_feedback",
                        {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}}}),
    [](const auto& test) { return test.param.name; });

TEST(GradientExchange, PT7_WhatIsZeroAtFirstStillTrainsUnlessItIsPruned) {
  run_in_process(2, [](Collective& network) {
    Training training({{"name", "pactrain"}}, half(), network);
    const Net fresh;
    training.take_steps(3);
    const Net& model = training.model();
    EXPECT_TRUE(model.norm->weight.narrow(0, 1, 2).ne(0).all().item<bool>());
    EXPECT_TRUE(model.norm->bias.ne(0).all().item<bool>());
    EXPECT_TRUE(model.fc2->bias.ne(0).all().item<bool>());
    EXPECT_EQ(fresh.fc1->weight[0][2].item<float>(), 0);
    EXPECT_NE(model.fc1->weight[0][2].item<float>(), 0) << "a kept weight that was zero by chance";
    EXPECT_NO_THROW(check_pruned_weights_are_zero(half(), model));
  });
}

// A model whose gradient is given by the test.
struct FourWeights : Model {
  torch::Tensor forward(const torch::Tensor& inputs) override { return (inputs * weight).sum(); }
  std::string head() const override { return "weight"; }
  torch::Tensor weight = register_parameter("weight", torch::zeros({4, 1}));
};

// The optimiser's gradients plus the residual equal the workers' gradients, each clipped to 1.
TEST(GradientExchange, ClipsWhatErrorFeedbackCountsBeforeItDoes) {
  run_in_process(2, [](Collective& network) {
    FourWeights model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    const SynchroniserContext context{
        .parameters = parameter_infos(model), .kept = {}, .weights = model.parameters()};
    GradientExchange exchange(
        model, Mask::keep_all(model),
        SynchroniserRegistry::instance().make({{"name", "topk"}, {"ratio", 0.25}}, {"test", ""}, context),
        metered, {});
    exchange.clip_gradients(1);
    const bool is_long = network.rank() == 1;
    const torch::Tensor gradient = torch::tensor({{3.0F}, {4.0F}, {12.0F}, {84.0F}}) * (is_long ? 1 : 1e-3);
    torch::Tensor sum = torch::zeros({4, 1});
    constexpr int steps = 3;
    for (int step = 0; step < steps; ++step) {
      exchange.begin_step();
      model.forward(gradient).backward();
      const StepReport report = exchange.finish_step();
      ASSERT_TRUE(report.applied);
      EXPECT_GT(report.clipping.elapsed_s, 0);
      sum += model.weight.grad();
    }
    Bucket held = exchange.layout().front();
    held.gradient = torch::zeros({held.size});
    exchange.synchroniser().add_residual(held);
    network.all_reduce(held.gradient, Reduction::sum);
    sum = sum.flatten() + held.gradient / network.world_size();
    constexpr double norm = 85;  // of the long gradient; the other's norm is below 1
    const torch::Tensor expected = torch::tensor({3.0F, 4.0F, 12.0F, 84.0F}) * steps * (1 / norm + 1e-3) / 2;
    EXPECT_TRUE(torch::allclose(sum, expected, 1e-5)) << sum;
  });
}

// Remembers what it observed.
class Observing : public Synchroniser {
 public:
  explicit Observing(std::vector<Observation>& observed) : observed_(observed) {}

  MethodProperties properties() const override { return {}; }
  bool senses_network() const override { return true; }
  void observe(const Observation& step) override { observed_.push_back(step); }
  void synchronise(Bucket& bucket, Collective& network) override {
    network.all_reduce(bucket.gradient, Reduction::sum);
  }
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(4 * bucket.size, world_size);
  }

 private:
  std::vector<Observation>& observed_;
};

TEST(GradientExchange, TellsTheMethodWhatEachAppliedStepTook) {
  run_in_process(2, [](Collective& network) {
    FourWeights model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    std::vector<Observation> observed;
    GradientExchange exchange(model, Mask::keep_all(model), std::make_unique<Observing>(observed), metered,
                              {});
    for (const float entry : {1.0F, std::nanf(""), 2.0F}) {
      exchange.begin_step();
      model.forward(torch::full({4, 1}, entry)).backward();
      const StepReport report = exchange.finish_step();
      EXPECT_EQ(report.applied, std::isfinite(entry));
      const ExpectedTraffic expected = all_reduce_traffic(16, 2) + observation_traffic(2);
      EXPECT_EQ(static_cast<double>(report.section.payload_bytes), expected.payload_bytes);
      EXPECT_EQ(report.section.sent_bytes, expected.sent_bytes);
    }
    ASSERT_EQ(observed.size(), 2);
    for (const Observation& step : observed) {
      EXPECT_EQ(step.sent_bytes, 16);
      EXPECT_GT(step.exchange_s, 0);
      EXPECT_GT(step.compute_s, 0);
      EXPECT_TRUE(testing::identical_on_all(network, torch::tensor({step.exchange_s, step.compute_s})));
    }
  });
}

TEST(GradientExchange, TellsTheMethodOfANewMask) {
  run_in_process(2, [](Collective& network) {
    Training training({{"name", "pactrain"}}, Mask::keep_all(Net()), network);
    training.take_steps(2);
    const double whole = training.payload_bytes();
    EXPECT_EQ(whole, 4 * (12 + 3 + 3 + 3 + 6 + 2));
    training.adopt(half());
    // 6 of 12 and 4 of 6 weights are kept; each bucket that has a pruned layer adds one flag.
    const double flags = whole - 4 * (6 + 2) - training.payload_bytes();
    EXPECT_LE(std::abs(flags), 2 * 4);
    EXPECT_LT(training.payload_bytes(), whole);
    training.adopt(Mask::keep_all(Net()));
    EXPECT_EQ(training.payload_bytes(), whole);
  });
}

TEST(GradientExchange, LoadsACheckpointOfAMaskThatCameLater) {
  run_in_process(2, [](Collective& network) {
    for (const std::string source : {"declared", "observed"}) {
      Json method = {{"name", "pactrain"}, {"source", source}};
      if (source == "observed") method["stable_iterations"] = 1;
      Training first(method, Mask::keep_all(Net()), network);
      first.take_steps(2);
      first.adopt(half());
      first.take_steps(3);
      TensorMap state;
      first.exchange().save(state);
      Training second(method, Mask::keep_all(Net()), network);
      second.adopt(half());
      second.exchange().load(state);
      EXPECT_EQ(second.payload_bytes(), first.payload_bytes()) << source;
      EXPECT_EQ(second.exchange().synchroniser().state(), first.exchange().synchroniser().state()) << source;
    }
  });
}

TEST(GradientExchange, ServesParametersThatTheLossDoesNotReach) {
  // A branch of the model is never used: its gradient counts as zero, and no worker waits for it.
  struct HalfUsed : Model {
    HalfUsed()
        : used(register_module("used", torch::nn::Linear(4, 2))),
          unused(register_module("unused", torch::nn::Linear(4, 2))) {}
    torch::Tensor forward(const torch::Tensor& images) override { return used(images); }
    std::string head() const override { return "used"; }
    torch::nn::Linear used, unused;
  };
  run_in_process(2, [](Collective& network) {
    HalfUsed model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    GradientExchange exchange(model, Mask::keep_all(model),
                              SynchroniserRegistry::instance().make({{"name", "dense"}}, {}, {}), metered,
                              {});
    for (int step = 0; step < 3; ++step) {
      exchange.begin_step();
      model.forward(torch::ones({1, 4})).sum().backward();
      exchange.finish_step();
      EXPECT_TRUE(torch::equal(model.unused->weight.grad(), torch::zeros({2, 4})));
      EXPECT_TRUE(torch::equal(model.used->weight.grad(), torch::ones({2, 4})));
    }
  });
}

}  // namespace
}  // namespace thinpipe::trainer
