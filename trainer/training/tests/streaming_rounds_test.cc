// SPDX-License-Identifier: Apache-2.0
// Rounds of several fragments, and exchanges that span steps.
#include <chrono>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/protocol/recorder.hh"
#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/commands/check.hh"
#include "trainer/training/model_fragments.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trainer::testing::are_pruned_alike;
using trainer::testing::base_config;
using trainer::testing::configured;
using trainer::testing::exchanges_in;
using trainer::testing::Result;
using trainer::testing::train;

Json streaming(std::int64_t fragments, std::int64_t overlap_steps, double mixing,
               const Json& inner = {{"name", "dense"}}) {
  return {{"name", "streaming_diloco"},     {"local_steps", 4}, {"fragments", fragments},
          {"overlap_steps", overlap_steps}, {"mixing", mixing}, {"inner", inner}};
}

TEST(StreamingRounds, OfOneFragmentWithoutOverlapAndMixingAreDiloco) {
  const Result diloco = train(configured(3, {{"synchroniser", {{"name", "diloco"}, {"local_steps", 4}}}}));
  const Result streamed = train(configured(3, {{"synchroniser", streaming(1, 0, 0)}}));
  EXPECT_EQ(streamed.summary["parameters_hash"], diloco.summary["parameters_hash"]);
  EXPECT_EQ(exchanges_in(streamed), exchanges_in(diloco));
}

// Begun after steps 2, 4, 6, …; the last two at the end of training.
TEST(StreamingRounds, ApplyEachFragmentsExchangeSomeStepsLater) {
  EXPECT_THAT(exchanges_in(train(configured(2, {{"synchroniser", streaming(2, 1, 0.5)}}))),
              ElementsAre(3, 5, 7, 9, 11, 13, 15, 16));
  EXPECT_THAT(exchanges_in(train(configured(2, {{"synchroniser", streaming(2, 2, 0.5)}}))),
              ElementsAre(4, 6, 8, 10, 12, 14, 16));
}

TEST(StreamingRounds, GiveEveryWorkerTheCommonWeightsWhenTheyAreComparedAndAtTheEnd) {
  Json changes = {{"synchroniser", streaming(2, 1, 0.5)}};
  changes["training"]["check_replicas_every_iterations"] = 4;
  const Result result = train(configured(3, changes));
  const Result other = train(configured(3, {{"synchroniser", streaming(2, 1, 0)}}));
  EXPECT_NE(result.summary["parameters_hash"], other.summary["parameters_hash"]) << "mixing does nothing";
  EXPECT_LT(result.evaluations.back()["test_loss"], result.evaluations.front()["test_loss"]);
}

class StreamingMethods : public ::testing::TestWithParam<Json> {};

// Checkpoints after 9 and 10 iterations: in the middle of rounds, with an exchange in flight and without.
TEST_P(StreamingMethods, GoOnWithAnExchangeInFlightAsIfNothingHadHappened) {
  const TrainingConfig config = configured(3, {{"synchroniser", GetParam()}});
  const Result whole = train(config);
  for (const int last : {9, 10}) {
    const TemporaryFolder folder;
    const CheckpointOptions checkpoints{.directory = folder.path(), .every_iterations = last};
    train(config, checkpoints);
    const Result resumed = train(config, checkpoints);
    EXPECT_EQ(resumed.resumed["iteration"], last);
    EXPECT_EQ(resumed.summary["parameters_hash"], whole.summary["parameters_hash"]) << last;
    for (const Json& iteration : resumed.iterations) {
      const Json& same = whole.iterations.at(iteration["iteration"].get<std::size_t>() - 1);
      for (const char* member : {"payload_bytes", "sent_bytes", "delivered_bytes"})
        EXPECT_NEAR(iteration[member].get<double>(), same[member].get<double>(), 1e-6)
            << member << " of iteration " << iteration["iteration"];
    }
  }
}

TEST_P(StreamingMethods, KeepPrunedWeightsAtZeroAndWorkersAlike) {
  // Pruned while an exchange is in flight.
  Json changes = {{"synchroniser", GetParam()}, {"pruning", {{"ratio", 0.5}, {"at_iteration", 6}}}};
  changes["training"]["check_replicas_every_iterations"] = 4;
  const Result result = train(configured(3, changes));
  std::int64_t zeros = 0;
  for (const torch::Tensor& parameter : result.parameters)
    zeros += parameter.eq(0).sum().item<std::int64_t>();
  EXPECT_GT(zeros, 0.4 * result.summary["parameters"].get<double>());
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamingMethods,
    ::testing::Values(streaming(2, 1, 0.5), streaming(2, 2, 0.5, {{"name", "topk"}, {"ratio", 0.2}}),
                      streaming(1, 3, 0.25, {{"name", "ef"}, {"inner", {{"name", "e3m0"}}}})),
    [](const auto& test) { return test.param["inner"]["name"].template get<std::string>(); });

// Exchanges are applied after steps 3, 5, 7, …; one is in flight after step 6.
TEST(StreamingRounds, ChooseAMaskFromTheCommonWeights) {
  const auto pruned_after = [](std::int64_t iteration) {
    return train(configured(3, {{"synchroniser", streaming(2, 1, 0.5)},
                                {"pruning", {{"ratio", 0.5}, {"at_iteration", iteration}}}}));
  };
  const Result as_applied = pruned_after(5);
  EXPECT_TRUE(are_pruned_alike(as_applied, pruned_after(6)));
  EXPECT_FALSE(are_pruned_alike(as_applied, pruned_after(7))) << "the weights hardly change";
}

// The model of two layers with a weight each; gradients are given by the test.
struct TwoWeights : Model {
  TwoWeights() {
    for (const char* layer : {"first", "second"}) {
      auto module = std::make_shared<torch::nn::Module>();
      weights.push_back(module->register_parameter("weight", torch::zeros({2})));
      register_module(layer, module);
    }
  }
  torch::Tensor forward(const torch::Tensor& inputs) override { return inputs; }
  std::string head() const override { return "second"; }
  std::vector<torch::Tensor> weights;
};

// By hand: two workers whose steps change each weight by -1 and -3; outer SGD of rate 1.
class ByHand {
 public:
  ByHand(Collective& network, const Json& method)
      : network_(std::make_unique<trainer::Borrowed>(network)), own_(network.rank() == 0 ? 1.0F : 3.0F) {
    const SynchroniserContext context{
        .parameters = parameter_infos(model_), .kept = {}, .weights = model_.parameters()};
    const auto make = [&](const SynchroniserContext& of) {
      return SynchroniserRegistry::instance().make(method, {}, of);
    };
    const std::int64_t count = make(context)->fragments().count;
    const auto fragments = fragments_of(context.parameters, count, {});
    for (const auto& fragment : fragments) {
      NamedParameters parameters;
      for (const std::size_t p : fragment) {
        parameters.insert(context.parameters[p].name, model_.weights[p]);
      }
      exchanges_.push_back(std::make_unique<GradientExchange>(parameters, Mask::keep_all(model_),
                                                              make(part_of(context, fragment)), network_,
                                                              BucketOptions{}, GradientSource::changes));
      exchanges_.back()->record_calls(recorder_, fragment);
    }
    rounds_.emplace(model_, fragments, exchanges_);
  }

  StepReport step(std::int64_t last = 1000, bool is_finite = true, std::chrono::milliseconds compute = {}) {
    rounds_->begin_step(optimiser_);
    std::this_thread::sleep_for(compute);
    for (torch::Tensor& weight : model_.weights) {
      weight.mutable_grad() = torch::full({2}, is_finite ? own_ : std::numeric_limits<float>::quiet_NaN());
    }
    if (rounds_->admits_step()) optimiser_.step();
    const StepReport report = rounds_->end_step(++iteration_, last, optimiser_);
    recorder_.end_step();
    return report;
  }

  float weight(std::size_t layer) const { return model_.weights[layer][0].item<float>(); }
  float common(std::size_t layer) const {
    const CommonWeights common(rounds_);
    return weight(layer);
  }
  float own() const { return own_; }
  LocalRounds& rounds() { return *rounds_; }
  const TraceRecorder& recorder() const { return recorder_; }

 private:
  TwoWeights model_;
  MeteredCollective network_;
  float own_;
  TraceRecorder recorder_;
  std::vector<std::unique_ptr<GradientExchange>> exchanges_;
  std::optional<LocalRounds> rounds_;
  torch::optim::SGD optimiser_{model_.parameters(), torch::optim::SGDOptions(1)};
  std::int64_t iteration_ = 0;
};

Json plain(std::int64_t local_steps, std::int64_t fragments, std::int64_t overlap_steps, double mixing) {
  return {{"name", "streaming_diloco"},
          {"local_steps", local_steps},
          {"fragments", fragments},
          {"mixing", mixing},
          {"overlap_steps", overlap_steps},
          {"learning_rate", 1},
          {"momentum", 0}};
}

TEST(StreamingRounds, MixWhatWorkersHaveChangedMeanwhile) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(2, 1, 1, 0.5));
    EXPECT_FALSE(training.step().exchanged);
    EXPECT_FALSE(training.step().exchanged) << "begins the exchange of -2 and -6, whose mean is -4";
    EXPECT_EQ(training.weight(0), -2 * training.own());
    EXPECT_EQ(training.common(0), 0);
    const StepReport report = training.step();
    EXPECT_TRUE(report.exchanged);
    EXPECT_EQ(report.section.payload_bytes, 16);
    EXPECT_EQ(training.common(0), -4);
    // Half of the own weight after three steps and half of the common one.
    EXPECT_EQ(training.weight(0), 0.5F * -3 * training.own() + 0.5F * -4);
    EXPECT_EQ(training.common(1), -4) << "both layers are in the only fragment";
  });
}

TEST(StreamingRounds, ExchangeFragmentsInTurn) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(4, 2, 0, 0));
    training.step();
    EXPECT_TRUE(training.step().exchanged);
    EXPECT_EQ(training.weight(0), -4) << "the mean of -2 and -6";
    EXPECT_EQ(training.weight(1), -2 * training.own());
    training.step();
    EXPECT_TRUE(training.step().exchanged);
    EXPECT_EQ(training.weight(0), -4 - 2 * training.own());
    EXPECT_EQ(training.weight(1), -8);
    training.step(5);
    EXPECT_EQ(training.weight(0), -4 - 6) << "the last step exchanges the next fragment";
    EXPECT_EQ(training.weight(1), -8) << "and drops what others have changed";
  });
}

TEST(StreamingRounds, WorkersReturnToWhereALostRoundBegan) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(2, 1, 1, 0.5));
    training.step();
    training.step(1000, network.rank() == 0);
    EXPECT_EQ(training.rounds().first_non_finite().has_value(), network.rank() == 1);
    const StepReport report = training.step();
    EXPECT_TRUE(report.exchanged);
    EXPECT_FALSE(report.applied);
    EXPECT_EQ(report.steps, 2);
    EXPECT_EQ(training.weight(0), 0);
    training.step();
    EXPECT_TRUE(training.step().applied);
    EXPECT_EQ(training.common(0), -2) << "the mean of the last step's -1 and -3";
  });
}

TEST(StreamingRounds, CannotBeSavedWhileOneIsBeingLost) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(2, 1, 1, 0));
    training.step();
    EXPECT_TRUE(training.rounds().can_be_saved());
    training.step(1000, network.rank() == 0);
    EXPECT_FALSE(training.rounds().can_be_saved());
    training.step();
    EXPECT_TRUE(training.rounds().can_be_saved());
  });
}

class SlowSum : public trainer::Borrowed {
 public:
  SlowSum(Collective& inner, std::chrono::milliseconds time) : Borrowed(inner), time_(time) {}
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    if (tensor.is_floating_point()) std::this_thread::sleep_for(time_);  // not for an evaluation's counts
    Borrowed::all_reduce(std::move(tensor), reduction);
  }

 private:
  std::chrono::milliseconds time_;
};

// Steps before an exchange had to be awaited took place while it was on the network, and make up for nothing.
TEST(StreamingRounds, OnlyLaterStepsMakeUpForTheTimeOfAnAwaitedExchange) {
  run_in_process(2, [&](Collective& network) {
    SlowSum slow(network, std::chrono::milliseconds(600));
    ByHand training(slow, plain(2, 1, 2, 0));
    training.step();
    training.step();
    training.step(1000, true, std::chrono::milliseconds(200));
    const Stopwatch awaiting;
    training.rounds().await_exchange();
    const double given_s = awaiting.elapsed_s();
    const Stopwatch step;
    training.step();
    EXPECT_GE(step.elapsed_s(), given_s - 0.05) << "a sleep may last longer, but never shorter";
  });
}

// The first fragment's first exchange comes after two of the four local steps of a round.
TEST(StreamingRounds, ALostOneCountsTheStepsSinceTheLastExchange) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(4, 2, 0, 0));
    training.step(1000, network.rank() == 0);
    EXPECT_EQ(training.step().steps, 2);
  });
}

// Each exchange begins when the previous one has been waited for. That wait must not count as compute.
TEST(StreamingRounds, ASlowWorkerDoesNotWaitMoreSlowly) {
  compute_on_one_thread();
  const TrainingConfig config = configured(1, {{"synchroniser", streaming(1, 4, 0)}});
  const auto dataset = make_dataset(config);
  InProcessGroup group(1);
  const std::unique_ptr<Collective> member = group.join(0);
  double compute_s = 0;
  double exposed_s = 0;
  const auto add_up = [&](const Event& reported) {
    const auto* iteration = std::get_if<event::Iteration>(&reported);
    if (iteration == nullptr) return;
    compute_s += iteration->times->compute_s.value();
    exposed_s += iteration->times->exposed_exchange_s.value();
  };
  TrainingLoop loop(config, *dataset, std::make_unique<SlowSum>(*member, std::chrono::milliseconds(300)), {},
                    add_up, nullptr, {{.at_iteration = 0, .factor = 4}});
  loop.start();
  loop.run();
  EXPECT_LT(compute_s, exposed_s);
}

TEST(StreamingRounds, AreInTheTrace) {
  run_in_process(2, [](Collective& network) {
    ByHand training(network, plain(4, 2, 1, 0));
    for (int i = 0; i < 3; ++i) training.step(6);
    training.rounds().await_exchange();
    for (int i = 0; i < 3; ++i) training.step(6);
    CommunicationTrace trace{.world_size = 1, .parameters = {{"first.weight", 2}, {"second.weight", 2}}};
    TraceRecorder::finish({training.recorder()}, trace);
    const Json written = to_json(trace);
    EXPECT_EQ(written["layouts"], Json::parse("[[[0]], [[1]]]"));
    // Exchanges begin after steps 2, 4 and 6, the last of which waits.
    EXPECT_EQ(written["workers"], Json::parse("[[[null, 1], [0, 1], [null, 1], [1, 1], [null, 1], [2, 1]]]"));
    EXPECT_EQ(written["exchanges"][0]["overlap_steps"], 1);
    EXPECT_EQ(written["exchanges"][1]["layout"], 1);
    EXPECT_EQ(written["exchanges"][2]["overlap_steps"], 0);
  });
}

TEST(ModelFragments, HaveWholeLayersInTurn) {
  std::vector<ParameterInfo> parameters;
  for (const char* name : {"embedding.weight", "blocks.0.a.weight", "blocks.0.a.bias", "blocks.1.a.weight",
                           "blocks.10.a.weight", "head.weight", "head.bias"}) {
    parameters.push_back({.name = name});
  }
  EXPECT_THAT(fragments_of(parameters, 2, {}), ElementsAre(ElementsAre(0, 3, 5, 6), ElementsAre(1, 2, 4)));
  EXPECT_THAT(fragments_of(parameters, 1, {}).front(), ::testing::SizeIs(7));
  EXPECT_THAT(
      [&] {
        fragments_of(parameters, 6, {"test", "/synchroniser/fragments"});
      },
      ::testing::ThrowsMessage<InputError>(HasSubstr("must be at most 5, the number of the model's layers")));
}

Json checked(const Json& synchroniser) {
  Json config = base_config(2);
  config.update({{"synchroniser", synchroniser}}, true);
  return check_configurations(Json::array({config})).front();
}

TEST(StreamingRounds, PlansCountExchangesOfFragments) {
  const Json diloco = checked({{"name", "diloco"}, {"local_steps", 4}})["plan"];
  const Json streamed = checked(streaming(2, 1, 0.5))["plan"];
  EXPECT_EQ(streamed["payload_bytes_per_iteration"], diloco["payload_bytes_per_iteration"]);
  // One exchange of eight is not made: the last one, because one is in flight.
  EXPECT_DOUBLE_EQ(checked(streaming(2, 2, 0.5))["plan"]["payload_bytes_per_iteration"].get<double>(),
                   diloco["payload_bytes_per_iteration"].get<double>() * 7 / 8);
}

TEST(StreamingRounds, FragmentsAndOverlapMustFit) {
  EXPECT_THAT(checked(streaming(3, 0, 0))["message"].get<std::string>(),
              HasSubstr("must be a multiple of fragments, which is 3"));
  EXPECT_THAT(checked(streaming(2, 3, 0))["message"].get<std::string>(),
              HasSubstr("must be at most 2, the steps"));
}

}  // namespace
}  // namespace thinpipe::trainer
