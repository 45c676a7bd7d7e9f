// SPDX-License-Identifier: Apache-2.0
// thinpipe run inside a virtual network: its records, and that nothing of it outlives the controller.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "harness/machine/cpu_pressure.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using namespace std::chrono_literals;

const Json endless = {{"topology", "three-switch"}, {"workers", 3}, {"iterations", 1000000}};

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> out;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) out.insert(entry.path());
  return out;
}

// Returns the network's settings, one "path value" per line, without counters of the kernel's activity.
std::set<std::string> network_settings() {
  std::set<std::string> out;
  std::error_code unreadable;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator("/proc/sys/net", skip, unreadable)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() || name.ends_with("_count") || name.ends_with("_secret")) continue;
    std::ifstream file(entry.path());
    std::string value;
    std::getline(file, value);
    out.insert(entry.path().string() + " " + value);
  }
  return out;
}

// The host's state that a network could change: mounts, devices, routes, settings, and the folders with names
// of networks and shared memory.
struct HostState {
  std::string mounts = read_file("/proc/self/mountinfo");
  std::string routes = read_file("/proc/net/route");
  std::set<std::string> devices = names_in("/sys/class/net");
  std::set<std::string> run = names_in("/run");
  std::set<std::string> named_networks = names_in("/run/netns");
  std::set<std::string> shared_memory = names_in("/dev/shm");
  std::set<std::string> settings = network_settings();
};

void expect_unchanged(const HostState& before) {
  const HostState now;
  EXPECT_EQ(now.mounts, before.mounts);
  EXPECT_EQ(now.routes, before.routes);
  EXPECT_EQ(now.devices, before.devices);
  EXPECT_EQ(now.run, before.run);
  EXPECT_EQ(now.named_networks, before.named_networks);
  EXPECT_EQ(now.shared_memory, before.shared_memory);
  EXPECT_EQ(now.settings, before.settings);
}

std::string link_target(const fs::path& link) {
  std::error_code gone;
  return fs::read_symlink(link, gone);
}

// Returns the namespaces of a process, such as "net:[4026531840]".
std::set<std::string> namespaces_of(const fs::path& process) {
  std::set<std::string> out;
  for (const char* kind : {"net", "mnt", "pid", "user", "ipc"}) {
    if (const std::string target = link_target(process / "ns" / kind); !target.empty()) out.insert(target);
  }
  return out;
}

// Returns whether any process is in one of the namespaces or holds it open.
bool in_use(const std::set<std::string>& namespaces) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    for (const std::string& lived_in : namespaces_of(process.path())) {
      if (namespaces.contains(lived_in)) return true;
    }
    std::error_code gone;
    for (const auto& open : fs::directory_iterator(process.path() / "fd", gone)) {
      if (namespaces.contains(link_target(open.path()))) return true;
    }
  }
  return false;
}

std::set<std::string> namespaces_of_marked(const std::string& mark) {
  std::set<std::string> out;
  for (const pid_t pid : processes_marked(mark))
    out.merge(namespaces_of(fs::path("/proc") / std::to_string(pid)));
  for (const std::string& own : namespaces_of("/proc/self")) out.erase(own);
  return out;
}

// Makes this process reap orphans, because some machines' init is slow. When the controller is killed, the
// sandbox's first process becomes an orphan.
void adopt_orphans() {
  system_call("adopt orphans", ::prctl(PR_SET_CHILD_SUBREAPER, 1));
}

void reap_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

class RunningNetwork : public testing::Test {
 protected:
  RunningNetwork() : process_(program_.start(program_.run_arguments(program_.experiment(endless)))) {
    const auto training = [this] {
      const auto written = program_.written();
      return std::ranges::find(written, "iterations.jsonl") != written.end() &&
             std::ranges::count_if(processes_marked(program_.mark()), is_worker) == 3;
    };
    if (!eventually(training, 60s))
      throw Error("the run did not start: " + read_file(program_.folder() / "errors"));
    namespaces_ = namespaces_of_marked(program_.mark());
  }

  static void SetUpTestSuite() { adopt_orphans(); }

  static bool is_worker(pid_t pid) {
    return link_target(fs::path("/proc") / std::to_string(pid) / "exe") == fake_trainer();
  }

  void expect_nothing_left() {
    // Each worker has its own network namespace; the controller is in that of the switches.
    ASSERT_GE(namespaces_.size(), 4 + 3);
    const auto nothing_left = [this] {
      reap_orphans();
      return processes_marked(program_.mark()).empty() && !in_use(namespaces_);
    };
    EXPECT_TRUE(eventually(nothing_left, 10s));
    expect_unchanged(before_);
  }

  HostState before_;
  Program program_;
  ChildProcess process_;
  std::set<std::string> namespaces_;
};

TEST_F(RunningNetwork, AKilledControllerLeavesNoProcessNamespaceDeviceOrMount) {
  process_.signal(SIGKILL);
  EXPECT_EQ(program_.finish(std::move(process_)).status.signal, SIGKILL);
  expect_nothing_left();
}

TEST_F(RunningNetwork, AKilledControllerLeavesATimeSeriesOfTheLinksUpToThen) {
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(program_.results())) {
    if (entry.path().filename() == "links.jsonl") file = entry.path();
  }
  std::int64_t seen = 0;
  const auto has_marks = [&] {
    const std::string text = read_file(file);
    seen = std::ranges::count(text, '\n');
    return text.find("\"iteration\"") != std::string::npos;
  };
  ASSERT_TRUE(eventually(has_marks, 30s));
  process_.signal(SIGKILL);
  program_.finish(std::move(process_));
  std::istringstream series(read_file(file));
  std::int64_t whole = 0;
  for (std::string line; std::getline(series, line) && !series.eof(); ++whole)
    EXPECT_FALSE(Json::parse(line, nullptr, false).is_discarded()) << line;
  EXPECT_GE(whole, seen);
}

TEST_F(RunningNetwork, AControllerKilledInsideTheSandboxLeavesNothingEither) {
  // Returns the innermost thinpipe process, the parent of the workers.
  const auto marked = processes_marked(program_.mark());
  const pid_t worker = *std::ranges::find_if(marked, is_worker);
  std::ifstream status(fs::path("/proc") / std::to_string(worker) / "status");
  pid_t controller = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) controller = std::stoi(line.substr(5));
  }
  ASSERT_GT(controller, 1);
  ASSERT_EQ(::kill(controller, SIGKILL), 0);
  EXPECT_EQ(program_.finish(std::move(process_)).status.code, 128 + SIGKILL);
  expect_nothing_left();
}

TEST_F(RunningNetwork, AnInterruptLeavesARecordAndNothingElse) {
  process_.signal(SIGINT);
  const auto ended = program_.finish(std::move(process_));
  EXPECT_EQ(ended.status.code, 1) << ended.errors;
  EXPECT_EQ(program_.record("base").at("status"), "interrupted");
  expect_nothing_left();
}

TEST(VirtualNetwork, AKillAtAnyMomentLeavesNothing) {
  adopt_orphans();
  const HostState before;
  const Json short_run = {{"topology", "three-switch"}, {"workers", 3}, {"iterations", 20}};
  const auto started = std::chrono::steady_clock::now();
  {
    const Program whole;
    ASSERT_TRUE(whole.run(whole.run_arguments(whole.experiment(short_run))).status.ok());
  }
  const auto duration = std::chrono::steady_clock::now() - started;
  constexpr int moments = 20;
  std::mt19937 random(1);
  for (int i = 0; i < moments; ++i) {
    // A random moment in each twentieth of set-up, run and tear-down.
    const double moment = (i + std::uniform_real_distribution<>(0, 1)(random)) / moments;
    const Program program;
    ChildProcess process = program.start(program.run_arguments(program.experiment(short_run)));
    std::this_thread::sleep_for(duration * moment);
    const std::set<std::string> namespaces = namespaces_of_marked(program.mark());
    process.signal(SIGKILL);
    program.finish(std::move(process));
    const auto nothing_left = [&] {
      reap_orphans();
      return processes_marked(program.mark()).empty() && !in_use(namespaces);
    };
    EXPECT_TRUE(eventually(nothing_left, 10s)) << "killed after " << moment << " of a run's time";
  }
  expect_unchanged(before);
}

TEST(VirtualNetwork, ItsCountersAndFidelityAreInTheRecord) {
  const Program program;
  const Json base = {{"topology", "three-switch"}, {"workers", 8}, {"bottleneck", {{"rate", "50 Mbit/s"}}}};
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "completed");
  const Json& wire_bytes = record.at("traffic").at("wire_bytes");
  for (const char* link : {"left->middle", "middle->left", "middle->right", "right->middle"}) {
    EXPECT_TRUE(wire_bytes.contains(link)) << wire_bytes;
  }
  const Json& fidelity = record.at("fidelity");
  EXPECT_NE(fidelity.at("verdict"), "not judged") << "probes fill what training does not: " << fidelity;
  EXPECT_EQ(fidelity.at("directions"), 4);
  EXPECT_EQ(fidelity.at("judged_directions"), 4);
  std::vector<std::string> checks;
  for (const Json& check : fidelity.at("checks")) checks.push_back(check.at("name"));
  EXPECT_THAT(checks, testing::AllOf(testing::Contains("rate in a probe before training, left->middle"),
                                     testing::Contains("rate in a probe after training, left->middle")));
  const Json& pressure = record.at("cpu_pressure");
  const CpuWaits here = read_cpu_waits();
  EXPECT_EQ(pressure.at("controller").is_number(), here.controller_s.has_value()) << pressure;
  EXPECT_EQ(pressure.at("network").is_number(), here.network_s.has_value())
      << "also from inside the sandbox: " << pressure;
  EXPECT_EQ(pressure.at("machine").is_number(), here.machine_s.has_value()) << pressure;
  EXPECT_EQ(record.at("config").at("bottleneck").at("rate"), "50 Mbit/s");
  EXPECT_TRUE(record.at("provenance").at("congestion_control").is_string());
  EXPECT_TRUE(record.at("idle_cores").at("kept_awake").is_boolean());
  EXPECT_GT(record.at("idle_cores").at("wakeup_latency").at("count"), 0);
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(VirtualNetwork, KeepsCpusAwakeOrNotAsItIsAsked) {
  const Json base = {{"topology", "three-switch"}, {"workers", 3}, {"iterations", 1}};
  for (const auto& [choice, awake] : {std::pair("awake", true), std::pair("may-sleep", false)}) {
    const Program program;
    const auto ended = program.run(program.run_arguments(program.experiment(base), {"--idle-cores", choice}));
    ASSERT_EQ(ended.status.code, 0) << ended.errors;
    EXPECT_EQ(program.record("base").at("idle_cores").at("kept_awake"), awake);
  }
}

TEST(VirtualNetwork, SamplesNoConnectionsIfTheyAreNotWanted) {
  const Program program;
  const std::string experiment =
      program.experiment({{"topology", "three-switch"}, {"workers", 3}, {"iterations", 1}});
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  EXPECT_TRUE(program.record("base").at("connections").is_array());
  ASSERT_EQ(program.run(program.run_arguments(experiment, {"--no-connections", "--fresh"})).status.code, 0);
  EXPECT_TRUE(program.record("base").value("connections", Json()).is_null());
}

TEST(VirtualNetwork, KeepsNoTimeSeriesIfNoSamplesAreWanted) {
  const Program program;
  const std::string experiment =
      program.experiment({{"topology", "three-switch"}, {"workers", 3}, {"iterations", 1}});
  ASSERT_EQ(program.run(program.run_arguments(experiment, {"--link-samples", "0"})).status.code, 0);
  EXPECT_THAT(program.written(), testing::Not(testing::Contains("links.jsonl")));
  const auto refused = program.run(program.run_arguments(experiment, {"--link-samples", "1000"}));
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, testing::HasSubstr("--link-samples"));
}

TEST(VirtualNetwork, ARunBesideBusyProgramsIsDegraded) {
  std::vector<std::jthread> busy;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    busy.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  const Program program;
  const Json base = {{"topology", "three-switch"}, {"workers", 3}, {"iterations", 100}};
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  busy.clear();
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json fidelity = program.record("base").at("fidelity");
  EXPECT_EQ(fidelity.at("verdict"), "degraded");
  const auto is_ours = [](const Json& check) { return check.at("name") == "CPU time of other programs"; };
  const auto check = std::ranges::find_if(fidelity.at("checks"), is_ours);
  ASSERT_NE(check, fidelity.at("checks").end());
  EXPECT_FALSE(check->at("ok").get<bool>()) << *check;
}

TEST(VirtualNetwork, ACrashInsideItIsAFailedRecord) {
  const Program program;
  const Json base = {{"topology", "three-switch"},
                     {"fault", {{"kind", "crash"}, {"rank", 7}, {"iteration", 2}}}};
  EXPECT_EQ(program.run(program.run_arguments(program.experiment(base))).status.code, 1);
  const Json error = program.record("base").at("error");
  EXPECT_EQ(error.at("rank"), 7) << error;
  EXPECT_EQ(error.at("exit_status"), "signal 11 (Segmentation fault)") << error;
}

TEST(DelayedNetwork, AKernelThatCannotDelayIsToldOfBeforeAnythingStarts) {
  const Program program;
  const auto ended = program.run(
      program.run_arguments(program.experiment({{"topology", "wan-4-sites"}, {"iterations", 1}})));
  if (ended.status.ok()) GTEST_SKIP() << "this kernel has sch_netem";
  EXPECT_THAT(ended.errors, testing::HasSubstr("module sch_netem"));
  EXPECT_THAT(program.written(), IsEmpty());
}

TEST(DelayedNetwork, AnEventThatTheKernelCannotMakeIsToldOfBeforeAnythingStarts) {
  const Program program;
  const Json base = {{"topology", "three-switch"},
                     {"iterations", 1},
                     {"network_events", {{{"at", "1 h"}, {"link", "bottlenecks"}, {"delay", "5 ms"}}}}};
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  if (ended.status.ok()) GTEST_SKIP() << "this kernel has sch_netem";
  EXPECT_THAT(ended.errors, testing::HasSubstr("module sch_netem"));
  EXPECT_THAT(program.written(), IsEmpty());
}

}  // namespace
}  // namespace thinpipe
