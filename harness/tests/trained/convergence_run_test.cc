// SPDX-License-Identifier: Apache-2.0
// Runs of mode "converge": all workers in one process of the real trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/protocol/trace.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Returns the base of a run with eight steps of three workers.
Json small_run(const Json& more = Json::object()) {
  Json base = {{"mode", "converge"},
               {"workers", 3},
               {"model", {{"name", "mlp"}}},
               {"dataset", {{"name", "synthetic"}, {"train_examples", 192}, {"test_examples", 50}}},
               {"training", {{"batch_size_per_worker", 8}, {"evaluate_every_iterations", 4}}},
               {"targets", {0.999, 0.2}},
               {"hold", 2}};
  base.update(more, true);
  return base;
}

TEST(ConvergenceRun, HasTheCostOfItsSetUp) {
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(small_run({{"pretraining", {{"iterations", 2}, {"batch_size", 16}}}}),
                         {{"pruning",
                           {{"once", {{"pruning", {{"ratio", 0.5}}}}},
                            {"slowly", {{"pruning", {{"ratio", 0.5}, {"at_iteration", 2}}}}},
                            {"never", Json::object()}}}});
  const auto result = program.run(program.run_arguments(experiment));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  for (const char* label : {"once", "slowly", "never"}) {
    const Json set_up = program.record(label).at("set_up");
    EXPECT_EQ(set_up.at("pretraining_from"), "measured");
    EXPECT_GT(set_up.at("pretraining_s"), 0);
    EXPECT_EQ(set_up.at("pretraining_s"), program.record("never").at("set_up").at("pretraining_s"))
        << "shared";
    EXPECT_EQ(set_up.at("pruning_s") > 0, std::string("never") != label) << set_up;
  }
}

TEST(ConvergenceRun, RecordsWhatIsLearntAndSentAndNothingOfTime) {
  const Program program(built_program("thinpipe-trainer"));
  const std::string experiment =
      program.experiment(small_run({{"synchroniser", {{"name", "topk"}, {"ratio", 0.1}}}}));
  const auto result = program.run(program.run_arguments(experiment));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("0.999 not reached, 0.2 after 4 iterations"));
  EXPECT_THAT(result.output, AllOf(HasSubstr("iterations to target"), HasSubstr("vNMSE")));

  const Json record = program.record("base");
  EXPECT_EQ(record.at("mode"), "converge");
  EXPECT_EQ(record.at("status"), "completed");
  EXPECT_EQ(record.at("iterations"), 8);
  for (const char* field : {"train_time_s", "iteration_time_s", "predicted", "fidelity"}) {
    EXPECT_TRUE(record.at(field).is_null()) << field;
  }
  EXPECT_EQ(record.at("curve").size(), 3);
  for (const Json& point : record.at("curve")) EXPECT_TRUE(point.at("train_time_s").is_null());
  EXPECT_FALSE(record.at("targets").at(0).at("reached").get<bool>());
  const Json& reached = record.at("targets").at(1);
  EXPECT_TRUE(reached.at("reached").get<bool>());
  EXPECT_EQ(reached.at("iteration"), 4);
  EXPECT_EQ(reached.at("held"),
            (Json{{"evaluations", 2}, {"reached", true}, {"iteration", 4}, {"train_time_s", nullptr}}));
  EXPECT_GT(record.at("traffic").at("payload_bytes_per_worker"), 0);
  EXPECT_EQ(record.at("traffic").at("wire_bytes"), Json::object());
  EXPECT_EQ(record.at("traffic").at("delivered_bytes_per_worker").get<double>(),
            8 * record.at("plan").at("delivered_bytes_per_iteration").get<double>());
  EXPECT_NE(record.at("traffic").at("delivered_bytes_per_worker"),
            record.at("traffic").at("payload_bytes_per_worker"));
  const auto vnmse = record.at("compression").at("vnmse").get<double>();
  EXPECT_TRUE(vnmse > 0.05 && vnmse < 2) << vnmse;
  for (const char* time : {"encode_cpu_s", "decode_cpu_s"})
    EXPECT_GT(record.at("compression").at(time).get<double>(), 0) << time;
  EXPECT_FALSE(record.at("plan").at("all_reduce_compatible").get<bool>());
  EXPECT_FALSE(record.at("config").contains("topology"));
  const auto log = program.results() / record.at("experiment").get<std::string>() /
                   record.at("run_id").get<std::string>() / "iterations.jsonl";
  EXPECT_THAT(read_file(log), AllOf(HasSubstr("payload_bytes"), Not(HasSubstr("iteration_time_s"))));
}

class TracedMethod : public ::testing::TestWithParam<Json> {};

TEST_P(TracedMethod, IsTracedWithAllThatItHandsToCollectives) {
  const Program program(built_program("thinpipe-trainer"));
  const auto result =
      program.run(program.run_arguments(program.experiment(small_run({{"synchroniser", GetParam()}}))));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const Json record = program.record("base");
  const CommunicationTrace trace =
      load_trace(program.results() / record.at("experiment").get<std::string>() /
                 record.at("run_id").get<std::string>() / "communication-trace.json");
  EXPECT_EQ(trace.world_size, 3);
  EXPECT_EQ(trace.steps(), 8);
  EXPECT_EQ(trace.configuration.at("synchroniser").at("name"), GetParam().at("name"));
  std::int64_t elements = 0;
  for (const TracedParameter& parameter : trace.parameters) elements += parameter.elements;
  EXPECT_EQ(elements, record.at("parameters"));
  double bytes = 0;
  for (const StepRun& run : trace.workers.front()) {
    if (!run.exchange) continue;
    for (const auto& calls : trace.exchanges[*run.exchange].buckets) {
      for (const CollectiveCall& call : calls)
        bytes += static_cast<double>(run.steps) * payload_bytes(call, 0);
    }
  }
  EXPECT_EQ(bytes, record.at("traffic").at("payload_bytes_per_worker"));
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryOperation, TracedMethod,
    testing::Values(
        Json{{"name", "dense"}}, Json{{"name", "topk"}, {"ratio", 0.1}}, Json{{"name", "zen"}},
        Json{{"name", "iwp"}}, Json{{"name", "omnireduce"}}, Json{{"name", "diloco"}, {"local_steps", 4}},
        Json{{"name", "streaming_diloco"}, {"local_steps", 4}, {"fragments", 2}, {"overlap_steps", 1}}),
    [](const auto& test) { return test.param.at("name").template get<std::string>(); });

TEST(ConvergenceRun, OfADenseMethodLosesOnlyRounding) {
  const Program program(built_program("thinpipe-trainer"));
  const auto result = program.run(program.run_arguments(program.experiment(small_run())));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  EXPECT_LT(program.record("base").at("compression").at("vnmse").get<double>(), 1e-12);
}

// The result does not depend on the processes of the workers.
TEST(ConvergenceRun, EndsWithTheWeightsOfTheLiveRun) {
  const auto hash = [](const Json& base) {
    const Program program(built_program("thinpipe-trainer"));
    const auto result = program.run(program.run_arguments(program.experiment(base)));
    EXPECT_EQ(result.status.code, 0) << result.errors;
    return program.record("base").at("parameters_hash").get<std::string>();
  };
  // Two workers, because the sum of two values is the same in any order.
  const Json method = {{"workers", 2}, {"synchroniser", {{"name", "topk"}, {"ratio", 0.1}}}};
  Json live = small_run(method);
  live["mode"] = "live";
  live["topology"] = "loopback";
  EXPECT_EQ(hash(small_run(method)), hash(live));
}

TEST(ConvergenceRun, RefusesWhatNeedsANetworkOrAProcessEach) {
  const Program program(built_program("thinpipe-trainer"));
  const auto refused = [&](const Json& more) {
    const auto result = program.run({"plan", program.experiment(small_run(more)), "--no-measuring"});
    EXPECT_EQ(result.status.code, 2);
    return result.errors;
  };
  EXPECT_THAT(refused({{"topology", "loopback"}}),
              AllOf(HasSubstr("/base/topology"), HasSubstr("does not work in mode \"converge\"")));
  EXPECT_THAT(refused({{"bottleneck", {{"rate", "100 Mbit/s"}}}}), HasSubstr("/base/bottleneck"));
  EXPECT_THAT(refused({{"worker_events", {{{"worker", 0}, {"slowdown", 2}}}}}),
              HasSubstr("/base/worker_events"));
}

TEST(ConvergenceRun, AFailureNamesItsKind) {
  const Program program(built_program("thinpipe-trainer"));
  const auto result = program.run(program.run_arguments(
      program.experiment(small_run({{"optimiser", {{"name", "sgd"}, {"learning_rate", 1e30}}},
                                    {"training", {{"max_skipped_steps", 2}}}}))));
  EXPECT_EQ(result.status.code, 1);
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_EQ(record.at("error").at("kind"), "non_finite");
  EXPECT_TRUE(record.at("train_time_s").is_null());
}

}  // namespace
}  // namespace thinpipe
