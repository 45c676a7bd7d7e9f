// SPDX-License-Identifier: Apache-2.0
// Runs of mode "replay": real workers repeat a convergence run's communication.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/trace.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/simulation/machine_file.hh"
#include "harness/tests/program.hh"
#include "netem/topology/frame.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

// Returns the base of a run with twelve steps of two workers on loopback.
Json small_replay(const Json& more = Json::object()) {
  Json base = {{"mode", "replay"},
               {"topology", "loopback"},
               {"model", {{"name", "mlp"}, {"hidden", Json::array({16})}}},
               {"dataset", {{"name", "synthetic"}, {"train_examples", 192}, {"test_examples", 50}}},
               {"training", {{"batch_size_per_worker", 8}, {"evaluate_every_iterations", 4}}},
               {"targets", {0.999, 0.2}}};
  base.update(more, true);
  return base;
}

class ReplayRun : public ::testing::Test {
 protected:
  Program::Ended run(const Json& base, const Json& sweep = Json::object(),
                     std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--profiling-time", "1 s"});
    return program_.run(program_.run_arguments(program_.experiment(base, sweep), more));
  }

  std::vector<Json> records(const std::string& mode) const {
    std::vector<Json> out;
    for (Json& record : load_records(program_.results())) {
      if (record.at("mode") == mode) out.push_back(std::move(record));
    }
    return out;
  }

  std::filesystem::path folder_of(const Json& record) const {
    return program_.results() / record.at("experiment").get<std::string>() /
           record.at("run_id").get<std::string>();
  }

  // Returns the absolute path of the file that a part of a record names.
  std::string file_of(const Json& part) const {
    return program_.results() / "test" / part.at("path").get<std::string>();
  }

  Program program_ = Program(built_program("thinpipe-trainer"));
};

// The second controller finds the training under way, and waits for it before it simulates.
TEST_F(ReplayRun, ASecondControllerWaitsForTheTraining) {
  const Json base = small_replay({{"mode", "simulate"},
                                  {"compute_profile", "a40"},
                                  {"topology", "pair"},
                                  {"training", {{"epochs", 200}}}});
  const std::vector<std::string> arguments = program_.run_arguments(
      program_.experiment(base, {{"bottleneck.rate", {"100 Mbit/s", "200 Mbit/s", "1 Gbit/s"}}}));
  ChildProcess first = program_.start(arguments);
  const auto second = program_.finish(program_.start(arguments));
  EXPECT_EQ(second.status.code, 0) << second.errors;
  EXPECT_EQ(program_.finish(std::move(first)).status.code, 0);
  ASSERT_EQ(records("simulate").size(), 3U);
  for (const Json& record : records("simulate")) EXPECT_EQ(record.at("status"), "completed");
}

// A device that the profile describes would need its own time; on this machine, pre-training was measured.
TEST_F(ReplayRun, HasTheCostOfSetUpOnTheDeviceOfItsProfile) {
  const Json base = small_replay({{"mode", "simulate"},
                                  {"pretraining", {{"iterations", 2}, {"batch_size", 16}}},
                                  {"pruning", {{"ratio", 0.5}}}});
  const auto result = run(base, {{"compute_profile", {"a40", "measured"}}});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  ASSERT_EQ(records("converge").size(), 1U);
  const Json trained = records("converge").front().at("set_up");
  for (const Json& record : records("simulate")) {
    const Json set_up = record.at("set_up");
    const bool is_measured = record.at("config").at("compute_profile") == "measured";
    EXPECT_EQ(set_up.at("pretraining_from"), is_measured ? "measured" : "profile");
    EXPECT_EQ(set_up.at("pretraining_s") == trained.at("pretraining_s"), is_measured);
    EXPECT_GT(set_up.at("pretraining_s"), 0);
    EXPECT_EQ(set_up.at("pruning_s"), trained.at("pruning_s"));
  }
}

TEST_F(ReplayRun, HasTheConvergenceRunsCurveWithTimesOfItsOwn) {
  const auto result = run(small_replay());
  ASSERT_EQ(result.status.code, 0) << result.errors;
  ASSERT_EQ(records("converge").size(), 1U);
  ASSERT_EQ(records("replay").size(), 1U);
  const Json trained = records("converge").front();
  const Json replayed = records("replay").front();

  EXPECT_EQ(replayed.at("replay").at("convergence_run"), trained.at("run_id"));
  EXPECT_EQ(replayed.at("iterations"), 12);
  EXPECT_EQ(replayed.at("parameters_hash"), trained.at("parameters_hash"));
  EXPECT_EQ(replayed.at("traffic").at("payload_bytes_per_worker"),
            trained.at("traffic").at("payload_bytes_per_worker"));
  ASSERT_EQ(replayed.at("curve").size(), trained.at("curve").size());
  for (std::size_t i = 0; i < replayed.at("curve").size(); ++i) {
    EXPECT_EQ(replayed["curve"][i]["test_accuracy"], trained["curve"][i]["test_accuracy"]);
  }
  EXPECT_EQ(replayed.at("curve").at(0).at("train_time_s"), 0);
  EXPECT_EQ(replayed.at("curve").back().at("train_time_s"), replayed.at("train_time_s"));
  EXPECT_GT(replayed.at("train_time_s").get<double>(), 0);
  EXPECT_EQ(replayed.at("targets").at(1).at("iteration"), trained.at("targets").at(1).at("iteration"));
  EXPECT_GT(replayed.at("targets").at(1).at("train_time_s").get<double>(), 0);

  // The first step has the first layout of buckets, the others the second.
  const Json& classes = replayed.at("replay").at("classes");
  double train_time_s = 0;
  std::int64_t steps = 0;
  for (const Json& each : classes) {
    EXPECT_GE(each.at("iterations").get<std::int64_t>(), 3);
    steps += each.at("steps").get<std::int64_t>();
    train_time_s += each.at("steps").get<double>() * each.at("mean_s").get<double>();
  }
  EXPECT_EQ(steps, 12);
  EXPECT_NEAR(train_time_s, replayed.at("train_time_s").get<double>(), 1e-9);
}

// So differences between times to a target of replay and live run come only from network and compute.
TEST_F(ReplayRun, OfATrainingAlongATreeHasTheLiveOnesWeightsToTheBit) {
  const Json methods = {{"dense", Json::object()},
                        {"fp16", {{"synchroniser", {{"name", "fp16"}}}}},
                        {"topk", {{"synchroniser", {{"name", "topk"}, {"ratio", 0.05}}}}}};
  const Json ways = {{"live", Json::object()},
                     {"simulated", {{"mode", "simulate"}, {"compute_profile", "a40"}}}};
  const Json base = {
      {"mode", "live"}, {"topology", "three-switch"}, {"workers", 6}, {"collective", {{"name", "island"}}}};
  const auto result = run(small_replay(base), {{"method", methods}, {"way", ways}});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  ASSERT_EQ(records("live").size(), 3U);
  for (const Json& live : records("live")) {
    const std::vector<Json> simulated = records("simulate");
    const auto same_method = [&](const Json& other) {
      return other.at("labels").at("method") == live.at("labels").at("method");
    };
    const auto other = std::ranges::find_if(simulated, same_method);
    ASSERT_NE(other, simulated.end()) << live.at("labels");
    EXPECT_EQ(other->at("parameters_hash"), live.at("parameters_hash")) << live.at("labels");
  }
}

// Returns the bytes that a worker sent to and received from a neighbour in the tree, according to the trace.
EdgeBytes traced_bytes(const CommunicationTrace& trace, std::size_t worker, int neighbour) {
  EdgeBytes all{.neighbour = neighbour};
  for (const StepRun& run : trace.workers[worker]) {
    for (const auto& calls : trace.exchanges.at(run.exchange.value()).buckets) {
      for (const CollectiveCall& call : calls) {
        EdgeBytes bytes;
        if (const auto* sum = std::get_if<AllReduceCall>(&call)) {
          bytes.sent = bytes.received = sum->elements * bytes_of(sum->type);
        } else {
          bytes =
              *std::ranges::find(std::get<SparseAllReduceCall>(call).edges, neighbour, &EdgeBytes::neighbour);
        }
        all.sent += run.steps * bytes.sent;
        all.received += run.steps * bytes.received;
      }
    }
  }
  return all;
}

// The bytes on edges depend on the workers' entries, so the trace must contain them.
// The series and the record take their bytes from the same counters.
TEST_F(ReplayRun, AndLiveRunsKeepATimeSeriesOfTheLinksThatAddsUpToTheirCounters) {
  const Json base = small_replay({{"topology", "three-switch"}, {"workers", 6}});
  ASSERT_EQ(run(base, {{"mode", {"live", "replay"}}}).status.code, 0);
  for (const std::string mode : {"live", "replay"}) {
    const Json record = records(mode).at(0);
    std::istringstream series(read_file(folder_of(record) / "links.jsonl"));
    std::string line;
    std::getline(series, line);
    const Json directions = Json::parse(line).at("directions");
    std::vector<std::int64_t> bytes(directions.size());
    std::vector<std::int64_t> iterations;
    while (std::getline(series, line)) {
      const Json entry = Json::parse(line);
      if (entry.contains("iteration")) iterations.push_back(entry.at("iteration"));
      for (std::size_t i = 0; entry.contains("bytes") && i < bytes.size(); ++i)
        bytes[i] += entry.at("bytes").at(i).get<std::int64_t>();
    }
    const Json& wire_bytes = record.at("traffic").at("wire_bytes");
    for (std::size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(wire_bytes.at(directions[i].get<std::string>()), bytes[i]) << mode << ", " << directions[i];
    EXPECT_THAT(bytes, testing::Each(testing::Gt(1000)));
    ASSERT_GE(iterations.size(), 4U) << mode;
    std::int64_t acknowledged_bytes = 0;
    for (const Json& edge : record.at("connections"))
      acknowledged_bytes += edge.at("acknowledged_bytes").get<std::int64_t>();
    EXPECT_GT(acknowledged_bytes, 1000) << mode;
    EXPECT_EQ(iterations.front(), 1);
  }
}

// Reports of iterations' ends arrive after the ends, on the clock of the series of the links.
TEST_F(ReplayRun, AndLiveRunsKeepTheTimesOfAllWorkersOnTheClockOfTheLinks) {
  const Json base = small_replay({{"topology", "three-switch"}, {"workers", 6}});
  ASSERT_EQ(run(base, {{"mode", {"live", "replay"}}}).status.code, 0);
  for (const std::string mode : {"live", "replay"}) {
    const std::filesystem::path folder = folder_of(records(mode).at(0));
    std::map<std::int64_t, double> marks;
    std::istringstream links(read_file(folder / "links.jsonl"));
    for (std::string line; std::getline(links, line);) {
      const Json entry = Json::parse(line);
      if (entry.contains("iteration")) marks[entry.at("iteration")] = entry.at("at_s");
    }
    std::map<std::int64_t, std::int64_t> iterations;  // by rank
    std::istringstream workers(read_file(folder / "workers.jsonl"));
    for (std::string line; std::getline(workers, line);) {
      const Json entry = Json::parse(line);
      const std::int64_t rank = entry.at("rank");
      EXPECT_EQ(entry.at("iteration"), ++iterations[rank]) << mode << ", rank " << rank;
      EXPECT_GE(entry.at("at_s"), entry.at("iteration_time_s")) << mode << ", rank " << rank;
      if (rank == 0) {
        EXPECT_LE(entry.at("at_s").get<double>(), marks.at(iterations[0]) + 1e-3) << mode;
      }
    }
    ASSERT_EQ(iterations.size(), 6U) << mode;
    for (const auto& [rank, count] : iterations)
      EXPECT_EQ(count, std::ssize(marks)) << mode << ", rank " << rank;
  }
}

TEST_F(ReplayRun, OfMergedEntriesIsOfWhatTheLiveRunPutOnTheLinks) {
  const Json ways = {{"gathered live", {{"synchroniser", {{"indices", "u16"}}}}},
                     {"merged live", {{"synchroniser", {{"indices", "sparse_all_reduce"}}}}},
                     {"merged replayed",
                      {{"synchroniser", {{"indices", "sparse_all_reduce"}}},
                       {"mode", "replay"},
                       {"compute_profile", "a40"}}}};
  const Json base = {{"mode", "live"},
                     {"topology", "three-switch"},
                     {"workers", 8},
                     {"model", {{"name", "mlp"}, {"hidden", Json::array({640})}}},
                     {"dataset", {{"train_examples", 768}}},
                     {"synchroniser", {{"name", "topk"}, {"ratio", 0.1}}},
                     {"collective", {{"name", "island"}}}};
  const auto result = run(small_replay(base), {{"way", ways}});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  std::map<std::string, Json> by_label;
  for (const Json& record : load_records(program_.results())) {
    if (record.at("mode") != "converge") by_label[record.at("label")] = record;
  }
  const Json& live = by_label.at("merged live");
  const Json& replayed = by_label.at("merged replayed");
  EXPECT_EQ(replayed.at("parameters_hash"), live.at("parameters_hash"));
  EXPECT_EQ(replayed.at("traffic").at("payload_bytes_per_worker"),
            live.at("traffic").at("payload_bytes_per_worker"));
  const std::filesystem::path trained =
      folder_of(replayed).parent_path() / replayed.at("replay").at("convergence_run").get<std::string>();
  const CommunicationTrace trace = load_trace(trained / trace_file_name);
  const EdgeBytes left = traced_bytes(trace, 0, 4);  // by netem/topology/reduction_tree.hh
  const EdgeBytes right = traced_bytes(trace, 5, 3);
  std::int64_t replayed_iterations = 0;
  for (const Json& each : replayed.at("replay").at("classes"))
    replayed_iterations += each.at("iterations").get<std::int64_t>();
  const std::map<std::string, std::int64_t> traced = {{"left->middle", left.sent},
                                                      {"middle->left", left.received},
                                                      {"right->middle", right.sent},
                                                      {"middle->right", right.received}};
  for (const auto& [direction, payload_bytes] : traced) {
    const auto bytes = [&](const Json& record) {
      return record.at("traffic").at("wire_bytes").at(direction).get<double>();
    };
    const double wire_bytes = static_cast<double>(payload_bytes) / netem::goodput_of_cap;
    EXPECT_NEAR(bytes(live) / wire_bytes, 1, 0.1) << direction;
    EXPECT_LT(bytes(live), 0.9 * bytes(by_label.at("gathered live"))) << direction;
    // Replays also warm up, which adds bytes.
    EXPECT_GT(bytes(replayed), 0.9 * wire_bytes / 12 * static_cast<double>(replayed_iterations)) << direction;
  }
}

TEST_F(ReplayRun, KeepsThisMachineBusyOnlyWithAProfileMeasuredHere) {
  ASSERT_EQ(run(small_replay(), {{"compute_profile", {"measured", "a40"}}}).status.code, 0);
  const std::vector<Json> replayed = records("replay");
  ASSERT_EQ(replayed.size(), 2U);
  for (const Json& record : replayed) {
    const Json& replay = record.at("replay");
    const bool estimated = record.at("config").at("compute_profile") == "a40";
    EXPECT_EQ(replay.at("compute_emulation"), estimated ? "sleep" : "busy");
    EXPECT_EQ(replay.at("compute_profile").at("origin"), estimated ? "estimated" : "measured");
    const Json& device = replay.at("compute_profile").at("device");
    EXPECT_EQ(device.at("name") == "NVIDIA A40", estimated) << device;
    EXPECT_GT(record.at("train_time_s").get<double>(), 0);
  }
}

// There, the exchange takes as much CPU time as in the replay.
TEST_F(ReplayRun, MeasuresWhatComputingTakesOverItsOwnNetwork) {
  const auto result =
      run(small_replay({{"topology", "pair"}}),
          {{"bottleneck.rate", {"100 Mbit/s", "200 Mbit/s"}}, {"mode", {"replay", "simulate"}}});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const auto profiles = [&](const char* mode) {
    std::set<std::string> paths;
    for (const Json& record : records(mode)) paths.insert(file_of(record.at("replay").at("compute_profile")));
    return paths;
  };
  EXPECT_EQ(profiles("replay").size(), 2U);
  EXPECT_EQ(profiles("simulate"), profiles("replay"));
  for (const std::string& path : profiles("replay")) EXPECT_EQ(load_profile(path).concurrent_workers, 2);
}

// The first exchange is far behind the iterations that compute needs to be known.
TEST_F(ReplayRun, MeasuresRoundsOfManyLocalSteps) {
  const auto result =
      run(small_replay({{"synchroniser", {{"name", "diloco"}, {"local_steps", 12000}}},
                        {"training", {{"epochs", 1000}, {"evaluate_every_iterations", 12000}}}}));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const ComputeProfile profile =
      load_profile(file_of(records("replay").front().at("replay").at("compute_profile")));
  EXPECT_EQ(profile.elapsed.ready_s, std::vector<double>(4, profile.elapsed.compute_s));
  EXPECT_GT(profile.elapsed.decode_s, 0);
}

TEST_F(ReplayRun, ASimulationMeasuresTheMachineOverItsNetwork) {
  const auto result =
      run(small_replay({{"mode", "simulate"}, {"topology", "pair"}, {"machine", "measured"}}));
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const Json machine = records("simulate").front().at("replay").at("machine");
  EXPECT_EQ(machine.at("workers_per_machine"), 2);
  EXPECT_GT(machine.at("core_s_per_message"), 0);
  const MachineFile file = load_machine_file(file_of(machine));
  EXPECT_EQ(file.costs.core_s_per_message, machine.at("core_s_per_message"));
  EXPECT_EQ(file.configuration.at("workers"), 2);
}

TEST_F(ReplayRun, IsNotMadeAgain) {
  ASSERT_EQ(run(small_replay()).status.code, 0);
  const Json before = records("replay").front();
  const auto again = run(small_replay());
  EXPECT_EQ(again.status.code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("[2/2] base: completed earlier"));
  EXPECT_EQ(records("replay").front(), before);
}

TEST_F(ReplayRun, TakesTheTimesOfAProfileThatIsGiven) {
  ASSERT_EQ(run(small_replay()).status.code, 0);
  const Json replayed = records("replay").front();
  ComputeProfile profile = load_profile(file_of(replayed.at("replay").at("compute_profile")));
  EXPECT_EQ(profile.concurrent_workers, 2);
  EXPECT_GT(profile.elapsed.compute_s, 0);
  for (const double ready_s : profile.elapsed.ready_s) EXPECT_LE(ready_s, profile.elapsed.compute_s);
  ASSERT_TRUE(profile.cpu);
  EXPECT_GT(profile.cpu->start_s, 0);

  profile.elapsed.compute_s = 0.1;
  profile.elapsed.start_s = 0.5;
  write_all(FileDescriptor::open(program_.folder() / "slow.json", O_WRONLY | O_CREAT),
            to_json(profile).dump(), "write a profile");
  const auto result =
      run(small_replay({{"compute_profile", "slow.json"}}), {{"mode", {"replay", "simulate"}}});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  EXPECT_EQ(records("converge").size(), 1U);
  for (const char* mode : {"replay", "simulate"}) {
    const std::vector<Json> all = records(mode);
    const Json slow = *std::ranges::max_element(
        all, {}, [](const Json& record) { return record.at("train_time_s").get<double>(); });
    const Json& classes = slow.at("replay").at("classes");
    EXPECT_GE(classes.at(0).at("mean_s").get<double>(), 0.6) << mode;
    EXPECT_EQ(classes.at(0).at("steps"), 1) << mode;
    EXPECT_GE(classes.at(1).at("mean_s").get<double>(), 0.1) << mode;
  }
  // A simulation does not depend on this machine.
  EXPECT_LT(records("simulate").front().at("replay").at("classes").at(1).at("mean_s").get<double>(), 0.5);
}

TEST_F(ReplayRun, WithAProfileOfAnotherModelFailsNamingIt) {
  ASSERT_EQ(run(small_replay()).status.code, 0);
  const std::string path = file_of(records("replay").front().at("replay").at("compute_profile"));
  const auto result =
      run(small_replay({{"compute_profile", path}, {"model", {{"hidden", Json::array({10})}}}}));
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("/configuration/model: the profile was made for"));
}

TEST_F(ReplayRun, OfATraceCutShortFailsNamingIt) {
  ASSERT_EQ(run(small_replay()).status.code, 0);
  const auto trace = folder_of(records("converge").front()) / "communication-trace.json";
  const std::string whole = read_file(trace);
  std::filesystem::resize_file(trace, whole.size() / 2);
  std::filesystem::remove(folder_of(records("replay").front()) / "run.json");
  const auto result = run(small_replay());
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("communication-trace.json"));
}

TEST_F(ReplayRun, WhoseTraceIsGoneMakesItAgain) {
  ASSERT_EQ(run(small_replay()).status.code, 0);
  std::filesystem::remove(folder_of(records("converge").front()) / "communication-trace.json");
  std::filesystem::remove(folder_of(records("replay").front()) / "run.json");
  const auto result = run(small_replay());
  EXPECT_EQ(result.status.code, 0) << result.errors;
  EXPECT_EQ(records("replay").size(), 1U);
}

}  // namespace
}  // namespace thinpipe
