// Compares the bundled external trainer, which uses PyTorch, with thinpipe-trainer in the same training run.
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

bool python_has_torch() {
  return ChildProcess({.arguments = {"/usr/bin/python3", "-c", "import torch"}}).wait().ok();
}

TEST(PyTorchTrainer, TrainsAsOursDoes) {
  if (!python_has_torch()) GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
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
           {"schedule", {{"shape", "step"}, {"step_epochs", {0.3, 0.6}}}}}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  for (const std::string method : {"dense", "fp16"}) {
    const Json ours = program.record(method + ", ours");
    const Json theirs = program.record(method + ", pytorch");
    ASSERT_EQ(ours.at("curve").size(), theirs.at("curve").size());
    for (std::size_t i = 0; i < ours.at("curve").size(); ++i) {
      const auto loss = [i](const Json& record) {
        return record.at("curve").at(i).at("test_loss").get<double>();
      };
      EXPECT_NEAR(loss(theirs), loss(ours), 1e-3 * loss(ours)) << method << ", evaluation " << i;
    }
    EXPECT_EQ(theirs.at("iterations"), ours.at("iterations"));
    EXPECT_EQ(theirs.at("parameters"), ours.at("parameters"));
    EXPECT_EQ(theirs.at("traffic").at("payload_bytes_per_worker"),
              ours.at("traffic").at("payload_bytes_per_worker"));
    EXPECT_TRUE(theirs.at("iteration_time_s").at("exchange").is_null());
    EXPECT_GT(theirs.at("iteration_time_s").at("mean"), 0);
    EXPECT_TRUE(theirs.at("predicted").at("iteration_time_s").is_null());
  }
}

TEST(PyTorchTrainer, RefusesWhatItDoesNotDo) {
  if (!python_has_torch()) GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
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
  if (!python_has_torch()) GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
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
  if (!python_has_torch()) GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
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

TEST(PyTorchTrainer, ThatDivergesIsNoBrokenTrainer) {
  if (!python_has_torch()) GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(short_training({{"optimiser", {{"name", "sgd"}, {"learning_rate", 1e30}}}}));
  EXPECT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
  EXPECT_EQ(program.record("base").at("error").at("kind"), "non_finite");
}

}  // namespace
}  // namespace thinpipe
