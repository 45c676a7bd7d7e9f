// SPDX-License-Identifier: Apache-2.0
// Compares the bundled external trainer, which uses PyTorch, with thinpipe-trainer in the same training run.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Returns why these tests cannot run in this build; "" if they can.
std::string obstacle() {
  const bool has_package = std::filesystem::exists(built_program("python/thinpipe/_core.so"));
  return has_package
             ? ""
             : "this build has no Python package: install python3-dev, pybind11-dev and python3-torch";
}

void expect_same_losses(const Json& ours, const Json& theirs, double relative_tolerance) {
  ASSERT_EQ(ours.at("curve").size(), theirs.at("curve").size()) << ours.at("label");
  for (std::size_t i = 0; i < ours.at("curve").size(); ++i) {
    const auto loss = [i](const Json& record) {
      return record.at("curve").at(i).at("test_loss").get<double>();
    };
    EXPECT_NEAR(loss(theirs), loss(ours), relative_tolerance * loss(ours))
        << ours.at("label") << ", evaluation " << i;
  }
}

TEST(PyTorchTrainer, TrainsAsOursDoes) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment = program.experiment(
      {{"topology", "loopback"},
       {"model", {{"name", "small_cnn"}, {"width", 4}, {"hidden", 32}}},
       {"dataset", {{"name", "fashion_mnist"}, {"train_examples", 640}, {"test_examples", 200}}},
       {"pretraining", {{"iterations", 5}}},
       {"collective", {{"name", "gloo"}}},
       {"training", {{"epochs", 1}, {"batch_size_per_worker", 16}, {"evaluate_every_iterations", 10}}}},
      {{"trainer", {{"ours", {{"trainer", nullptr}}}, {"pytorch", {{"trainer", "pytorch-ddp"}}}}},
       {"method",
        {{"dense",
          {{"synchroniser", {{"name", "dense"}}},
           {"schedule", {{"shape", "cosine"}, {"warmup_iterations", 3}, {"final_share", 0.1}}}}},
         {"fp16",
          {{"synchroniser", {{"name", "fp16"}, {"variant", "pytorch"}}},
           {"schedule", {{"shape", "step"}, {"step_epochs", {0.3, 0.6}}}}}},
         {"dense, AdamW",
          {{"optimiser",
            {{"name", "adamw"}, {"learning_rate", 0.01}, {"beta2", 0.98}, {"weight_decay", 0.1}}},
           {"training", {{"clip_norm", 0.5}, {"label_smoothing", 0.1}}}}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  for (const std::string method : {"dense", "fp16", "dense, AdamW"}) {
    const Json ours = program.record(method + ", ours");
    const Json theirs = program.record(method + ", pytorch");
    expect_same_losses(ours, theirs, 1e-3);
    EXPECT_EQ(theirs.at("iterations"), ours.at("iterations"));
    EXPECT_EQ(theirs.at("parameters"), ours.at("parameters"));
    EXPECT_EQ(theirs.at("provenance").at("dataset_hash"), ours.at("provenance").at("dataset_hash"));
    EXPECT_EQ(theirs.at("traffic").at("payload_bytes_per_worker"),
              ours.at("traffic").at("payload_bytes_per_worker"));
    EXPECT_TRUE(theirs.at("iteration_time_s").at("exchange").is_null());
    EXPECT_GT(theirs.at("iteration_time_s").at("mean"), 0);
    EXPECT_TRUE(theirs.at("predicted").at("iteration_time_s").is_null());
    const std::string id = theirs.at("run_id");
    const std::string times = read_file(program.results() / "test" / id / "workers.jsonl");
    EXPECT_EQ(std::ranges::count(times, '\n'), theirs.at("iterations").get<std::int64_t>() *
                                                   theirs.at("config").at("workers").get<std::int64_t>());
    EXPECT_THAT(times, HasSubstr("\"compute_s\":null"));
  }
}

TEST(PyTorchTrainer, RefusesWhatItDoesNotDo) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const auto refusal = [](const Json& more) {
    const Program program(built_program("thinpipe-trainer"));
    Json base = {{"topology", "loopback"}, {"trainer", "pytorch-ddp"}};
    base.update(more);
    EXPECT_EQ(program.run(program.run_arguments(program.experiment(base))).status.code, 1);
    const Json error = program.record("base").at("error");
    EXPECT_EQ(error.at("kind"), "input");
    return error.at("message").get<std::string>();
  };
  EXPECT_EQ(refusal({{"synchroniser", {{"name", "signsgd"}}}}),
            "pytorch-ddp does not support the synchroniser signsgd, only dense, fp16 and powersgd");
  EXPECT_EQ(refusal({{"optimiser", {{"name", "adam"}}}, {"pruning", {{"ratio", 0.5}}}}),
            "/pruning/ratio is 0.5, but pytorch-ddp supports only 0");
  EXPECT_EQ(refusal({{"collective", {{"name", "ring"}}}}),
            "/collective/name is ring, but pytorch-ddp supports only Gloo");
  EXPECT_EQ(refusal({{"worker_events", {{{"worker", 1}, {"slowdown", 2}}}}}),
            "pytorch-ddp does not support slowdowns (worker_events) or checkpoints (on_worker_failure)");
}

Json short_training(const Json& more) {
  Json base = {{"topology", "loopback"},
               {"workers", 2},
               {"trainer", "pytorch-ddp"},
               {"model", {{"name", "mlp"}, {"hidden", {16}}}},
               {"dataset", {{"name", "fashion_mnist"}, {"train_examples", 64}, {"test_examples", 32}}},
               {"pretraining", {{"iterations", 0}}},
               {"training", {{"batch_size_per_worker", 16}}}};
  base.update(more);
  return base;
}

// Sizes of a normalised configuration in every unit.
TEST(PyTorchTrainer, ReadsSizesInTheUnitsOfConfigurations) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(short_training(Json::object()),
                         {{"buckets",
                           {{"bytes", {{"buckets", {{"first_size", "500 bytes"}}}}},
                            {"GB", {{"buckets", {{"first_size", "1 kB"}, {"size", "1 GB"}}}}},
                            {"KiB", {{"buckets", {{"first_size", "3 KiB"}, {"size", "7 MiB"}}}}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
}

TEST(PyTorchTrainer, AdvisesInTheUnitsOfConfigurations) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment = program.experiment(short_training(
      {{"synchroniser", {{"name", "powersgd"}, {"start_step", 2}}}, {"buckets", {{"first_size", "1 kB"}}}}));
  EXPECT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
  const std::string message = program.record("base").at("error").at("message");
  const std::string before = "buckets.first_size to at least ";
  const std::size_t begin = message.find(before);
  ASSERT_NE(begin, std::string::npos) << message;
  EXPECT_GT(parse_quantity(Quantity::size, message.substr(begin + before.size())), 1000);
}

// With either trainer; ours also reports them.
TEST(PyTorchTrainer, RefusesDataThatDifferBetweenWorkers) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  std::ofstream(program.folder() / "points.py") << R"(
import torch

def load():
    part = torch.rand(64, 2), torch.arange(64) % 2
    return part, part
)";
  const std::string experiment = program.experiment(
      short_training({{"dataset", {{"name", "points.py:load"}}}}),
      {{"trainer", {{"ours", {{"trainer", nullptr}}}, {"pytorch", {{"trainer", "pytorch-ddp"}}}}}});
  EXPECT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
  for (const char* const trainer : {"ours", "pytorch"}) {
    const std::string message = program.record(trainer).at("error").at("message");
    EXPECT_NE(message.find("the function must seed whatever it draws"), std::string::npos) << message;
  }
}

TEST(PyTorchTrainer, ThatDivergesIsNoBrokenTrainer) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(short_training({{"optimiser", {{"name", "sgd"}, {"learning_rate", 1e30}}}}));
  EXPECT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
  EXPECT_EQ(program.record("base").at("error").at("kind"), "non_finite");
}

// A model, a data set and a partition that exist only in C++, and dropout.
TEST(PyTorchTrainer, TrainsEveryModelAndDataSetAsOursDoes) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string net = source_path("trainer/python/tests/methods/with_dropout.py") + ":WithDropout";
  const std::string experiment = program.experiment(
      {{"topology", "loopback"},
       {"workers", 2},
       {"dataset", {{"name", "synthetic"}, {"train_examples", 256}, {"test_examples", 50}}},
       {"partition", {{"name", "dirichlet"}}},
       {"collective", {{"name", "gloo"}}},
       {"training", {{"batch_size_per_worker", 16}, {"evaluate_every_iterations", 4}}}},
      {{"trainer", {{"ours", {{"trainer", nullptr}}}, {"pytorch", {{"trainer", "pytorch-ddp"}}}}},
       {"model",
        {{"cpp", {{"model", {{"name", "vit_tiny"}, {"width", 16}, {"depth", 1}, {"dropout", 0.2}}}}},
         {"python", {{"model", {{"name", net}}}}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  for (const std::string model : {"cpp", "python"}) {
    expect_same_losses(program.record(model + ", ours"), program.record(model + ", pytorch"), 1e-4);
  }
}

const std::string hooks = source_path("trainer/python/tests/methods/hooks.py");

Json with_hook(Json hook, const Json& more = Json::object()) {
  (hook.is_string() ? hook : hook["name"]) =
      hooks + ":" + (hook.is_string() ? hook : hook["name"]).get<std::string>();
  Json out = {{"trainer", {{"program", "pytorch-ddp"}, {"hook", hook}}}};
  out.update(more);
  return out;
}

// Runs PyTorch's fp16 hook, and the hooks. Expects their weights and bytes to be those of PyTorch's.
void expect_pytorchs(const Program& program, Json methods) {
  methods["theirs"] = {{"synchroniser", {{"name", "fp16"}, {"variant", "pytorch"}}}};
  const auto ended = program.run(
      program.run_arguments(program.experiment(short_training(Json::object()), {{"method", methods}})));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json theirs = program.record("theirs");
  ASSERT_TRUE(theirs.at("parameters_hash").is_string());
  for (const auto& [label, change] : methods.items()) {
    const Json mine = program.record(label);
    EXPECT_EQ(mine.at("parameters_hash"), theirs.at("parameters_hash")) << label;
    EXPECT_EQ(mine.at("traffic").at("payload_bytes_per_worker"),
              theirs.at("traffic").at("payload_bytes_per_worker"))
        << label << ", by thinpipe.report";
  }
}

TEST(PyTorchTrainer, AHookOfTheUsersHasTheWeightsOfPyTorchs) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  expect_pytorchs(program, {{"function", with_hook("fp16")}});
}

TEST(PyTorchTrainer, AHookMadeByAFactoryOrThinpipeHasTheWeightsOfPyTorchs) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  expect_pytorchs(program, {{"factory", with_hook({{"name", "made"}, {"keeps", 3}})},
                            {"ours", with_hook("of_thinpipe")}});
  EXPECT_EQ(program.record("factory").at("config").at("trainer").at("method"), "made");
}

TEST(PyTorchTrainer, AStepThatThinpipesHookSkipsIsNotApplied) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment = program.experiment(short_training(with_hook("skips_a_step")));
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("skipped_steps"), 1);
  const std::string id = record.at("run_id");
  EXPECT_THAT(read_file(program.results() / "test" / id / "iterations.jsonl"),
              HasSubstr("\"applied\":false"));
}

TEST(PyTorchTrainer, AHookThatCannotBeUsedIsRefusedBeforeTheRun) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const auto refusal = [](const Json& hook) {
    const Program program(built_program("thinpipe-trainer"));
    const std::string experiment = program.experiment(short_training(with_hook(hook)));
    const auto ended = program.run(program.run_arguments(experiment));
    EXPECT_EQ(ended.status.code, 2);
    EXPECT_TRUE(program.written().empty());
    return ended.errors;
  };
  EXPECT_THAT(refusal("nothing"),
              AllOf(HasSubstr("/base/trainer/hook"), HasSubstr("hooks.py has no nothing")));
  EXPECT_THAT(refusal("without_parameters"),
              AllOf(HasSubstr("hooks.py:"), HasSubstr("must have the parameters (state, bucket)")));
  EXPECT_THAT(refusal({{"name", "made"}, {"keeps", 0}}),
              AllOf(HasSubstr("/base/trainer/hook/keeps"), HasSubstr("must be at least 1")));
  EXPECT_THAT(refusal({{"name", "made"}, {"keep", 1}}),
              AllOf(HasSubstr("/base/trainer/hook"), HasSubstr("did you mean \"keeps\"?")));
  EXPECT_THAT(refusal({{"name", "fp16"}, {"rank", 1}}), HasSubstr("unknown key \"rank\""));
}

TEST(PyTorchTrainer, TheErrorOfAHookHasItsPlaceInTheUsersFile) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  const auto error_of = [](const Json& hook) {
    const Program program(built_program("thinpipe-trainer"));
    const std::string experiment = program.experiment(short_training(with_hook(hook)));
    EXPECT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
    const Json error = program.record("base").at("error");
    return error.at("kind").get<std::string>() + ": " + error.at("message").get<std::string>();
  };
  // Records write the folder for temporary files as $TMPDIR.
  const auto in_file = HasSubstr("/" + std::filesystem::path(hooks).filename().string() + ":");
  EXPECT_THAT(error_of("fails"),
              AllOf(StartsWith("internal: "), in_file, EndsWith("ValueError: no gradient is good enough")));
  EXPECT_THAT(error_of("fails_later"), AllOf(StartsWith("internal: "), in_file, HasSubstr("TypeError")));
  EXPECT_THAT(error_of("returns_text"),
              AllOf(StartsWith("input: "), in_file, HasSubstr("must return (state, hook)")));
  EXPECT_THAT(error_of({{"name", "of_thinpipe"}, {"method", "topkk"}}),
              AllOf(StartsWith("input: "), in_file, HasSubstr("did you mean \"topk\"?")));
}

}  // namespace
}  // namespace thinpipe
