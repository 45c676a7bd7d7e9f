// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/worker_file.hh"

#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

const GroupOptions member = {.rank = 1,
                             .world_size = 4,
                             .address = "10.0.0.2",
                             .rendezvous_directory = "/run/rendezvous",
                             .reduction_tree = {2, 2, -1, 1}};
const Json config = {{"workers", 4}, {"model", {{"name", "mlp"}}}};

const WorkFile work = {
    .group_options = member,
    .log_level = "debug",
    .initial_weights = "/run/weights.pt",
    .checkpoint = CheckpointOptions{.directory = "/run/checkpoints", .every_iterations = 20},
    .interruption =
        InterruptionOptions{.request = "/run/stop", .directory = "/run/checkpoint", .resume_after = 7},
    .begin_file = "/run/begin",
    .slowdowns = {{.at_iteration = 0, .factor = 2.5}, {.at_iteration = 9, .factor = 1}},
    .report_iteration_starts = true,
    .report_worker_times = true,
    .method = "sketch",
    .hook = Json{{"name", "/mine.py:hook"}, {"rank", 2}},
    .config = config};
const ReplayFile replay = {.group_options = member,
                           .communication_trace = "/run/trace.json",
                           .compute_profile = "/run/profile.json",
                           .compute_emulation = ComputeEmulation::busy,
                           .begin_file = "/run/begin",
                           .report_worker_times = true,
                           .collective = {{"name", "ring"}}};
const ConvergeFile converge = {.initial_weights = "/run/weights.pt",
                               .communication_trace = "/run/trace.json",
                               .reduction_tree = {-1, 0, 0},
                               .config = config};
const Device device = {.name = "a device",
                       .source = "its data sheet",
                       .peak_flop_per_s = 1e12,
                       .flop_efficiency = 0.5,
                       .memory_byte_per_s = 1e9,
                       .memory_efficiency = 0.1,
                       .kernel_s = 1e-3};

template <WorkerFile File>
void expect_reads_back(const File& file) {
  const Json written = Json::parse(to_json(file).dump());
  EXPECT_EQ(parse_worker_file<File>(written, "worker.json"), file) << written;
}

TEST(WorkerFiles, ReadBackAsTheyWereWritten) {
  expect_reads_back(work);
  expect_reads_back(WorkFile{.group_options = {.address = "127.0.0.1"}, .config = Json::object()});
  expect_reads_back(ProfileFile{.group_options = member,
                                .log_level = "error",
                                .initial_weights = "/run/weights.pt",
                                .max_s = 30.5,
                                .output = "/run/profile.json",
                                .config = config});
  expect_reads_back(replay);
  expect_reads_back(converge);
  expect_reads_back(MeasureFile{.rank = 1,
                                .world_size = 4,
                                .rendezvous_directory = "/run/rendezvous",
                                .rendezvous_addresses = {"10.0.0.1:20001", "10.0.0.1:20002"},
                                .log_level = "debug",
                                .network_interface = "10.1.0.0/16",
                                .max_s = 40});
  expect_reads_back(PretrainFile{.output = "/run/weights.pt", .config = config});
  expect_reads_back(EstimateFile{
      .device = device, .batch_size_per_worker = 32, .output = "/run/profile.json", .config = config});
}

// External trainers read this file: docs/reference/trainers.md.
TEST(WorkerFiles, TheLayoutOfAWorkersFileIsThatOfTheDocs) {
  EXPECT_EQ(to_json(work), Json::parse(R"({
    "schema_version": 2, "rank": 1, "world_size": 4, "address": "10.0.0.2",
    "rendezvous_directory": "/run/rendezvous", "reduction_tree": [2, 2, -1, 1], "log_level": "debug",
    "initial_weights": "/run/weights.pt",
    "checkpoint": {"directory": "/run/checkpoints", "every_iterations": 20},
    "interruption": {"request": "/run/stop", "directory": "/run/checkpoint", "resume_after": 7},
    "begin_file": "/run/begin",
    "slowdowns": [{"at_iteration": 0, "factor": 2.5}, {"at_iteration": 9, "factor": 1.0}],
    "report_iteration_starts": true, "report_worker_times": true, "method": "sketch",
    "hook": {"name": "/mine.py:hook", "rank": 2},
    "config": {"workers": 4, "model": {"name": "mlp"}}})"));
  EXPECT_EQ(to_json(WorkFile{.group_options = {.address = "127.0.0.1", .rendezvous_directory = "/run"},
                             .config = Json::object()}),
            Json::parse(R"({
    "schema_version": 2, "rank": 0, "world_size": 1, "address": "127.0.0.1", "rendezvous_directory": "/run",
    "reduction_tree": [], "log_level": "info", "initial_weights": null, "checkpoint": null,
    "begin_file": null, "slowdowns": [],
    "report_iteration_starts": false, "report_worker_times": false, "config": {}})"));
  EXPECT_FALSE(to_json(EstimateFile{.device = device, .config = config}).contains("batch_size_per_worker"));
  EXPECT_EQ(to_json(replay).at("compute_emulation"), "busy");
}

TEST(WorkerFiles, OnlyWhatAWorkerCannotDoWithoutIsRequired) {
  const Json least = {{"schema_version", 2},
                      {"rank", 0},
                      {"world_size", 2},
                      {"address", "127.0.0.1"},
                      {"rendezvous_directory", "/run"},
                      {"config", Json::object()}};
  const auto file = parse_worker_file<WorkFile>(least, "worker.json");
  EXPECT_EQ(file.log_level, "info");
  EXPECT_FALSE(file.checkpoint);
  EXPECT_TRUE(file.group_options.reduction_tree.empty());
  for (const auto& [key, value] : least.items()) {
    Json incomplete = least;
    incomplete.erase(key);
    try {
      parse_worker_file<WorkFile>(incomplete, "worker.json");
      ADD_FAILURE() << key << " is not required";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()), "worker.json: \"" + key + "\" is missing");
    }
  }
}

template <WorkerFile File>
std::string refusal_of(const File& file, const Json& change) {
  Json value = to_json(file);
  value.merge_patch(change);
  try {
    parse_worker_file<File>(value, "worker.json");
    return "none";
  } catch (const InputError& error) {
    return error.what();
  }
}

struct Change {
  Json change;
  const char* refusal;  // a part of it
};

TEST(WorkerFiles, RefuseWhatNoWorkerCanDo) {
  const auto beyond = std::int64_t{std::numeric_limits<int>::max()} + 1;
  for (const Change& each : {
           Change{{{"schema_version", 1}}, "/schema_version: must be at least 2 and at most 2, but is 1"},
           {{{"slow_downs", Json::array()}},
            "/slow_downs: unknown key \"slow_downs\"; did you mean \"slowdowns\"?"},
           {{{"rank", -1}}, "/rank: must be at least 0, but is -1"},
           {{{"rank", "0"}}, "/rank: must be a whole number, but is \"0\""},
           {{{"rank", beyond}},
            "/rank: must be a whole number from -2147483648 to 2147483647, but is 2147483648"},
           {{{"world_size", 1}}, "/world_size: must be above 1 and at most 2147483647, but is 1"},
           {{{"address", 3}}, "/address: must be a string, but is 3"},
           {{{"log_level", "loud"}}, "debug, info, warning, error"},
           {{{"checkpoint", {{"every_iterations", 0}}}},
            "/checkpoint/every_iterations: must be at least 1, but is 0"},
           {{{"checkpoint", {{"directory", nullptr}}}}, "/checkpoint: \"directory\" is missing"},
           {{{"checkpoint", {{"every", 3}}}}, "did you mean \"every_iterations\"?"},
           {{{"slowdowns", 3}}, "/slowdowns: must be a list, but is 3"},
           {{{"slowdowns", {3}}}, "/slowdowns/0: must be an object, but is 3"},
           {{{"slowdowns", {{{"at_iteration", -1}, {"factor", 2}}}}},
            "/slowdowns/0/at_iteration: must be at least 0, but is -1"},
           {{{"slowdowns", {{{"at_iteration", 1}, {"factor", 0.5}}}}},
            "/slowdowns/0/factor: must be at least 1, but is 0.5"},
           {{{"report_iteration_starts", 1}}, "/report_iteration_starts: must be true or false, but is 1"},
           {{{"report_worker_times", "no"}}, "/report_worker_times: must be true or false, but is \"no\""},
           {{{"config", 3}}, "/config: must be an object, but is 3"},
       }) {
    EXPECT_THAT(refusal_of(work, each.change), HasSubstr(each.refusal)) << each.change;
  }
  EXPECT_THAT(refusal_of(replay, {{"compute_emulation", "sleeps"}}), HasSubstr("sleep, busy"));
  EXPECT_THAT(refusal_of(replay, {{"config", Json::object()}}), HasSubstr("unknown key \"config\""));
  EXPECT_THAT(refusal_of(ProfileFile{.group_options = member, .output = "profile.json", .config = config},
                         Json::object()),
              HasSubstr("/max_time_s: must be above 0, but is 0"));
  EXPECT_THAT(refusal_of(EstimateFile{.device = device, .config = config}, {{"device", {{"kernel_s", -1}}}}),
              HasSubstr("/device/kernel_s: must be at least 0, but is -1"));
}

TEST(WorkerFiles, RefuseWhatIsNoTreeOfTheWorkers) {
  const auto refusal = [](const Json& parents) { return refusal_of(work, {{"reduction_tree", parents}}); };
  EXPECT_EQ(refusal(Json::array()), "none");
  EXPECT_EQ(refusal({-1, 0, 0}),
            "worker.json at /reduction_tree: must have 4 entries, one per worker, but has 3");
  EXPECT_EQ(refusal({-1, 0, -1, 2}), "worker.json at /reduction_tree: has several roots, entries of -1");
  EXPECT_EQ(refusal({-1, 2, 3, 1}),
            "worker.json at /reduction_tree/1: does not lead to the root: the tree has a loop");
  EXPECT_EQ(refusal({1, 2, 3, 3}),
            "worker.json at /reduction_tree/0: does not lead to the root: the tree has a loop");
  EXPECT_EQ(refusal({-1, 0, 0, 4}),
            "worker.json at /reduction_tree/3: must be at least -1 and below 4, but is 4");
  EXPECT_EQ(refusal({-2, 0, 0, 0}),
            "worker.json at /reduction_tree/0: must be at least -1 and below 4, but is -2");
  EXPECT_EQ(refusal_of(converge, {{"reduction_tree", {1, 0, 0}}}),
            "worker.json at /reduction_tree/0: does not lead to the root: the tree has a loop");
}

TEST(WorkerFiles, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "worker-0.json";
  std::ofstream(path) << "{}";
  try {
    load_worker_file<WorkFile>(path);
    FAIL() << "an empty file is no worker file";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), path + ": \"schema_version\" is missing");
  }
}

}  // namespace
}  // namespace thinpipe
