// SPDX-License-Identifier: Apache-2.0
// Whole training runs on synthetic data, over the in-process backend: trajectories, agreement, checkpoints.
#include "trainer/training/training_loop.hh"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using trainer::testing::base_config;
using trainer::testing::configured;
using trainer::testing::largest_difference;
using trainer::testing::Result;
using trainer::testing::train;

// Float sums over a batch in another order differ in the last bits. Over 16 steps of this training run the
// difference stays far below this, while a lost or doubled gradient changes the second digit.
constexpr double kTolerance = 1e-5;

TEST(TrainingLoop, SeveralWorkersDenseEqualOneOnTheJointBatch) {
  const Result alone = train(configured(1));
  for (const int workers : {2, 3, 4}) {
    const Result together = train(configured(workers));
    EXPECT_EQ(together.iterations.size(), 16);
    EXPECT_LT(largest_difference(alone, together), kTolerance) << workers << " workers";
    for (std::size_t i = 1; i < alone.evaluations.size(); ++i) {
      EXPECT_NEAR(together.evaluations[i]["train_loss"].get<double>(),
                  alone.evaluations[i]["train_loss"].get<double>(), kTolerance);
      EXPECT_NEAR(together.evaluations[i]["test_loss"].get<double>(),
                  alone.evaluations[i]["test_loss"].get<double>(), kTolerance);
    }
  }
}

TEST(TrainingLoop, LearnsTheSyntheticData) {
  const Result result = train(configured(2, {{"model", {{"width", 8}, {"hidden", 64}}},
                                             {"dataset", {{"noise", 0.2}}},
                                             {"training", {{"epochs", 25}}}}));
  EXPECT_GT(result.evaluations.back()["test_accuracy"].get<double>(), 0.9);
}

TEST(TrainingLoop, ReportsACurveThatBeginsAtZeroAndEndsAtTheLastIteration) {
  const Result result = train(configured(2));
  std::vector<int> at;
  for (const Json& evaluation : result.evaluations) at.push_back(evaluation["iteration"]);
  EXPECT_THAT(at, ::testing::ElementsAre(0, 4, 8, 12, 16));
  EXPECT_EQ(result.evaluations.front()["train_time_s"], 0.0);
  EXPECT_TRUE(result.evaluations.front()["train_loss"].is_null());
  double sum = 0;
  for (const Json& iteration : result.iterations) sum += iteration["iteration_time_s"].get<double>();
  EXPECT_NEAR(result.evaluations.back()["train_time_s"].get<double>(), sum, 1e-9);
}

TEST(TrainingLoop, ReportsTheStartOfEachIterationWhereThatIsAskedFor) {
  EXPECT_TRUE(train(configured(2)).starts.empty());
  const Result result = train(configured(2), {}, nullptr, true);
  ASSERT_EQ(result.starts.size(), result.iterations.size());
  double ended_s = 0;  // train time
  double ended_at_s = 0;
  for (std::size_t i = 0; i < result.starts.size(); ++i) {
    EXPECT_EQ(result.starts[i]["iteration"], result.iterations[i]["iteration"]);
    EXPECT_EQ(result.starts[i]["train_time_s"], ended_s);
    EXPECT_GE(result.starts[i]["monotonic_s"].get<double>(), ended_at_s) << "after the end of the one before";
    ended_s = result.iterations[i]["train_time_s"];
    ended_at_s = result.starts[i]["monotonic_s"].get<double>() +
                 result.iterations[i]["iteration_time_s"].get<double>();
  }
}

TEST(TrainingLoop, ReportsTheTimesOfEveryWorkersIterations) {
  const Result result = train(configured(2));
  ASSERT_EQ(result.times.size(), 2U);
  for (const auto& times : result.times) {
    ASSERT_EQ(times.size(), result.iterations.size());
    double ended_s = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      EXPECT_EQ(times[i].iteration, static_cast<std::int64_t>(i) + 1);
      EXPECT_GE(times[i].monotonic_s - times[i].iteration_time_s, ended_s)
          << "after the end of the one before";
      EXPECT_LE(times[i].compute_s.value() + times[i].exposed_exchange_s.value(),
                times[i].iteration_time_s + 1e-9);
      ended_s = times[i].monotonic_s;
    }
  }
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    EXPECT_EQ(result.times[0][i].iteration_time_s, result.iterations[i]["iteration_time_s"]);
    EXPECT_EQ(result.times[0][i].compute_s, result.iterations[i]["compute_s"].get<double>());
    EXPECT_EQ(result.times[0][i].exposed_exchange_s,
              result.iterations[i]["exposed_exchange_s"].get<double>());
  }
}

TEST(TrainingLoop, EvaluatesGradientsWhereTheMethodShiftsTheWeights) {
  const auto hash = [](double ratio, double detached) {
    const Json method = {{"name", "gmc"}, {"ratio", ratio}, {"detached", detached}};
    return train(configured(2, {{"synchroniser", method}})).summary["parameters_hash"];
  };
  EXPECT_NE(hash(0.2, 0.5), hash(0.2, 0));
  EXPECT_EQ(hash(1, 0.5), hash(1, 0)) << "there is no residual to shift by";
}

TEST(TrainingLoop, PackingLosesNothingOfThePrunedGradient) {
  // Compares dense with packed after pruning: with two workers the order of summation is the same,
  // and so are the bits.
  const Json pruning = {{"ratio", 0.7}};
  const Result dense = train(configured(2, {{"pruning", pruning}}));
  const Result packed =
      train(configured(2, {{"pruning", pruning}, {"synchroniser", {{"name", "pactrain"}}}}));
  EXPECT_EQ(dense.summary["parameters_hash"], packed.summary["parameters_hash"]);
}

TEST(TrainingLoop, PrunedWeightsStayAtZero) {
  const TrainingConfig config =
      configured(2, {{"pruning", {{"ratio", 0.5}}}, {"optimiser", {{"weight_decay", 0.01}}}});
  const auto dataset = make_dataset(config);
  const auto model = make_model(config, dataset->shape());
  const Mask mask = choose_mask(config, *model, *dataset);
  const Result result = train(config);
  std::size_t p = 0;
  for (const auto& item : model->named_parameters()) {
    if (const auto keep = mask.flat_mask_for(item.key())) {
      EXPECT_TRUE(result.parameters[p].flatten().masked_select(keep->logical_not()).eq(0).all().item<bool>())
          << item.key();
    }
    ++p;
  }
}

TEST(TrainingLoop, FailsByNameWhenTheGradientStaysNonFinite) {
  const TrainingConfig config =
      configured(2, {{"optimiser", {{"learning_rate", 1e30}}}, {"training", {{"max_skipped_steps", 3}}}});
  EXPECT_THAT([&] { train(config); }, ThrowsMessage<NonFiniteError>(HasSubstr("3 steps in a row")));
}

// On rank 1, NaN replaces some training images.
class Poisoned : public Dataset {
 public:
  // example: index in the training set; -1: all images.
  Poisoned(const Dataset& inner, std::int64_t example) : inner_(inner) {
    if (example >= 0) poison_ = inner.train().inputs[example].flatten();
  }
  DataShape shape() const override { return inner_.shape(); }
  const Examples& train() const override { return inner_.train(); }
  const Examples& test() const override { return inner_.test(); }
  torch::Tensor prepare(const torch::Tensor& inputs) const override {
    torch::Tensor prepared = inner_.prepare(inputs);
    const torch::Tensor bad =
        poison_ ? inputs.flatten(1).eq(*poison_).all(1) : torch::ones({inputs.size(0)}, torch::kBool);
    return prepared.masked_fill_(bad.view({-1, 1, 1, 1}), std::numeric_limits<float>::quiet_NaN());
  }

 private:
  const Dataset& inner_;
  std::optional<torch::Tensor> poison_;
};

TEST(TrainingLoop, AllSkipTheStepInWhichOneWorkerMeetsNaN) {
  // Example 100 is in one batch of each epoch; a step is lost only if rank 1 gets it.
  const TrainingConfig config =
      configured(3, {{"synchroniser", {{"name", "topk"}, {"ratio", 0.05}}},
                     {"training", {{"epochs", 6}, {"check_replicas_every_iterations", 1}}}});
  BatchSampler sampler({.examples = 192, .batch_size_per_worker = 8, .rank = 1, .world_size = 3, .seed = 3});
  std::vector<int> expected;
  for (int i = 0; i < 6 * 8; ++i) {
    if (sampler.batch(i / 8, i % 8).eq(100).any().item<bool>()) expected.push_back(i + 1);
  }
  ASSERT_FALSE(expected.empty());

  const Result result = train(config, {}, [](const Dataset& dataset, int rank) -> std::unique_ptr<Dataset> {
    return rank == 1 ? std::make_unique<Poisoned>(dataset, 100) : nullptr;
  });
  std::vector<int> skipped;
  for (const Json& iteration : result.iterations) {
    if (!iteration["applied"].get<bool>()) skipped.push_back(iteration["iteration"]);
  }
  EXPECT_EQ(skipped, expected);
  EXPECT_EQ(result.summary["skipped_steps"], expected.size());
  for (const torch::Tensor& parameter : result.parameters)
    EXPECT_TRUE(parameter.isfinite().all().item<bool>());
}

// The NaN is in rank 0's statistics, with which every worker evaluates.
TEST(TrainingLoop, RunningStatisticsForgetABatchThatMeetsNaN) {
  for (const Json& method : {Json{{"name", "dense"}}, Json{{"name", "diloco"}, {"local_steps", 2}}}) {
    Json json = base_config(2);
    json["model"] = {{"name", "resnet"}, {"width", 2}};
    json["synchroniser"] = method;
    json["training"]["epochs"] = 6;
    const TrainingConfig config = parse_training_config(json, {"test", ""});
    const Result result = train(config, {}, [](const Dataset& dataset, int rank) -> std::unique_ptr<Dataset> {
      return rank == 0 ? std::make_unique<Poisoned>(dataset, 100) : nullptr;
    });
    EXPECT_GT(result.summary["skipped_steps"].get<int>(), 0) << method;
    EXPECT_TRUE(result.evaluations.back()["test_loss"].is_number()) << method;
  }
}

TEST(TrainingLoop, NamesRankAndTensorOfAGradientThatStaysNonFinite) {
  EXPECT_THAT(
      [] {
        train(configured(3, {{"training", {{"max_skipped_steps", 2}}}}), {},
              [](const Dataset& dataset, int rank) -> std::unique_ptr<Dataset> {
                return rank == 1 ? std::make_unique<Poisoned>(dataset, -1) : nullptr;
              });
      },
      ThrowsMessage<NonFiniteError>(AllOf(HasSubstr("2 steps in a row"), HasSubstr("fc2."),
                                          HasSubstr("on rank 1"), Not(HasSubstr("on rank 0")),
                                          Not(HasSubstr("on rank 2")))));
}

// A data set of only its first training example.
class OneExample : public Dataset {
 public:
  explicit OneExample(const Dataset& inner)
      : inner_(inner),
        train_{.inputs = repeated(inner.train().inputs), .labels = repeated(inner.train().labels)} {}
  DataShape shape() const override { return inner_.shape(); }
  const Examples& train() const override { return train_; }
  const Examples& test() const override { return inner_.test(); }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return inner_.prepare(inputs); }

 private:
  static torch::Tensor repeated(const torch::Tensor& examples) {
    return examples.narrow(0, 0, 1).expand_as(examples).contiguous();
  }

  const Dataset& inner_;
  Examples train_;
};

TEST(TrainingLoop, WorkersDropDifferentUnits) {
  Json changes = base_config(3);
  changes["model"] = {{"name", "vit_tiny"}, {"width", 8}, {"depth", 1}, {"heads", 2}};
  changes["optimiser"]["learning_rate"] = 0.5;
  const auto second_losses = [&](double dropout) {
    changes["model"]["dropout"] = dropout;
    const TrainingConfig config = parse_training_config(changes, {"test", ""});
    const auto dataset = make_dataset(config);
    const OneExample same(*dataset);
    std::vector<double> losses(3);
    run_in_process(3, [&](std::unique_ptr<Collective> member) {
      const int rank = member->rank();
      TrainingLoop loop(config, same, std::move(member), {}, [&losses, rank](const Event& event) {
        const auto* const iteration = std::get_if<event::Iteration>(&event);
        if (iteration != nullptr && iteration->iteration == 2) losses[rank] = iteration->train_loss.value();
      });
      loop.start();
      loop.run();
    });
    return losses;
  };
  const auto same = second_losses(0);
  EXPECT_EQ(same[0], same[1]);
  EXPECT_EQ(same[0], same[2]);
  const auto dropped = second_losses(0.5);
  EXPECT_NE(dropped[0], dropped[1]);
  EXPECT_NE(dropped[0], dropped[2]);
  EXPECT_NE(dropped[1], dropped[2]);
}

TEST(TrainingLoop, ClippingBoundsTheStep) {
  // Without momentum and decay a step is learning rate x gradient, at most as long as learning rate x norm.
  const Json plain = {{"name", "sgd"}, {"learning_rate", 1.0}, {"momentum", 0.0}, {"weight_decay", 0.0}};
  const TrainingConfig config =
      configured(2, {{"optimiser", plain},
                     {"training", {{"epochs", 1}, {"batch_size_per_worker", 96}, {"clip_norm", 1e-3}}}});
  const auto dataset = make_dataset(config);
  const auto before = make_model(config, dataset->shape());
  const Result after = train(config);
  ASSERT_EQ(after.iterations.size(), 1);
  double squares = 0;
  std::size_t p = 0;
  for (const torch::Tensor& parameter : before->parameters()) {
    squares += (parameter - after.parameters[p++]).to(torch::kDouble).square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-5);
}

TEST(TrainingLoop, TheScheduleDecidesTheStep) {
  // When the rate has fallen to zero, weights stay; before, they change.
  const Json falling = {{"shape", "step"}, {"step_epochs", {1}}, {"step_factor", 1e-30}};
  const Json plain = {{"momentum", 0.0}, {"weight_decay", 0.0}};
  const Result one = train(configured(2, {{"optimiser", plain}, {"training", {{"epochs", 1}}}}));
  const Result two = train(configured(2, {{"optimiser", plain}, {"schedule", falling}}));
  EXPECT_EQ(one.summary["parameters_hash"], two.summary["parameters_hash"]);
  EXPECT_NE(train(configured(2, {{"optimiser", plain}})).summary["parameters_hash"],
            two.summary["parameters_hash"]);
}

TEST(TrainingLoop, CommunicatesOnlyFromItsStartOn) {
  const TrainingConfig config = configured(2);
  const auto dataset = make_dataset(config);
  InProcessGroup group(2);
  group.abort("stopped by the test");  // from now on, every call fails
  TrainingLoop loop(config, *dataset, group.join(0), {}, [](const Event&) {});
  EXPECT_THROW(loop.start(), CollectiveError);
}

class CountsBarriers : public trainer::Borrowed {
 public:
  CountsBarriers(Collective& inner, int& count) : Borrowed(inner), count_(count) {}
  void barrier() override {
    ++count_;
    Borrowed::barrier();
  }

 private:
  int& count_;
};

// The time that another worker needs for its checkpoint would be train time.
TEST(TrainingLoop, NoStepBeginsBeforeEveryWorkerHasWrittenItsCheckpoint) {
  const TrainingConfig config = configured(2);
  const auto dataset = make_dataset(config);
  const TemporaryFolder folder;
  const auto barriers = [&](const CheckpointOptions& checkpoints) {
    std::vector<int> counts(2);
    run_in_process(2, [&](Collective& network) {
      TrainingLoop loop(config, *dataset, std::make_unique<CountsBarriers>(network, counts[network.rank()]),
                        checkpoints, [](const Event&) {});
      loop.start();
      loop.run();
    });
    EXPECT_EQ(counts[0], counts[1]);
    return counts[0];
  };
  const int checkpoints = 3;  // after steps 5, 10 and 15 of 16
  EXPECT_EQ(barriers({.directory = folder.path(), .every_iterations = 5}), barriers({}) + checkpoints);
}

// Each worker calls a function in a Python file on its own.
TEST(TrainingLoop, RefusesDataFromAFunctionThatDifferBetweenWorkers) {
  TrainingConfig config = configured(3);
  const auto dataset = make_dataset(config);
  const OneExample other(*dataset);
  const auto start = [&](const Dataset& of_rank_1) {
    run_in_process(3, [&](std::unique_ptr<Collective> member) {
      const Dataset& own = member->rank() == 1 ? of_rank_1 : *dataset;
      TrainingLoop(config, own, std::move(member), {}, [](const Event&) {}).start();
    });
  };
  EXPECT_NO_THROW(start(other)) << "every worker reads the same files";
  config.dataset["name"] = "my_data.py:load";
  EXPECT_NO_THROW(start(*dataset));
  EXPECT_THAT([&] { start(other); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("the data set of rank 1 differs from rank 0's"),
                                              HasSubstr("seed whatever it draws"))));
}

TEST(TrainingLoop, TellsWhatItIsAt) {
  const TrainingConfig config = configured(1);
  const auto dataset = make_dataset(config);
  InProcessGroup group(1);
  WorkerStatus worker_status;
  std::vector<std::string> phases;
  TrainingLoop loop(
      config, *dataset, group.join(0), {}, [&](const Event&) { phases.emplace_back(worker_status.phase()); },
      &worker_status);
  loop.start();
  EXPECT_STREQ(worker_status.phase(), "starting");
  loop.run();
  EXPECT_EQ(phases.front(), "evaluating");
  EXPECT_EQ(phases.at(1), "exchanging");  // the end of the first iteration
  EXPECT_EQ(worker_status.iteration(), 16);
}

// In the fastest of some steps, gradients are ready when the compute that includes clipping is over.
TEST(TrainingLoop, ClippingBeforeTheExchangeIsCompute) {
  compute_on_one_thread();
  const TrainingConfig config = configured(1, {{"model", {{"hidden", 65536}}},
                                               {"synchroniser", {{"name", "topk"}, {"ratio", 0.01}}},
                                               {"training", {{"clip_norm", 1e-3}}}});
  const auto dataset = make_dataset(config);
  InProcessGroup group(1);
  TrainingLoop loop(config, *dataset, group.join(0), {}, [](const Event&) {});
  loop.start();
  double least_s = std::numeric_limits<double>::infinity();
  loop.take_steps(5, [&](const StepTimes& step) {
    const auto last = std::ranges::max_element(step.ready, {}, &Durations::elapsed_s);
    least_s = std::min(least_s, last->elapsed_s - step.compute.elapsed_s);
  });
  EXPECT_LT(least_s, 1e-3);
}

// Profiles compute from it what coding the whole model takes.
TEST(TrainingLoop, SaysWhichShareOfTheModelAStepExchanges) {
  const auto shares_of = [](const Json& method) {
    const TrainingConfig config = configured(1, {{"synchroniser", method}});
    const auto dataset = make_dataset(config);
    InProcessGroup group(1);
    TrainingLoop loop(config, *dataset, group.join(0), {}, [](const Event&) {});
    loop.start();
    std::vector<double> shares;
    loop.take_steps(4, [&](const StepTimes& step) { shares.push_back(step.exchanged_share); });
    return shares;
  };
  EXPECT_THAT(shares_of({{"name", "dense"}}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(shares_of({{"name", "diloco"}, {"local_steps", 2}}), ElementsAre(0, 1, 0, 1));
  const std::vector<double> fragments =
      shares_of({{"name", "streaming_diloco"}, {"local_steps", 4}, {"fragments", 2}, {"overlap_steps", 0}});
  EXPECT_THAT(fragments, ElementsAre(0, Gt(0), 0, Gt(0)));
  EXPECT_DOUBLE_EQ(fragments[1] + fragments[3], 1);
}

TEST(ReplicaCheck, NamesTheRanksAndTheTensorThatDiffer) {
  const TrainingConfig config = configured(3);
  run_in_process(3, [&](Collective& network) {
    const auto model = make_model(config, {.channels = 1, .height = 8, .width = 8, .classes = 10});
    check_parameter_replicas(*model, network);
    if (network.rank() == 2) {
      const torch::NoGradGuard no_grad;
      model->named_parameters()["fc1.bias"][3] += 1e-6;
    }
    EXPECT_THAT([&] { check_parameter_replicas(*model, network); },
                ThrowsMessage<DivergenceError>("the parameter fc1.bias of rank 2 differs from rank 0's"));
  });
}

}  // namespace
}  // namespace thinpipe::trainer
