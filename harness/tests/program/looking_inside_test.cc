// SPDX-License-Identifier: Apache-2.0
// Captures of links, and shells in the network of a run in progress.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

const Json endless = {{"topology", "three-switch"}, {"workers", 3}, {"iterations", 1000000}};

// Returns what tcpdump prints about the frames of a file.
std::string tcpdump(const fs::path& file, const fs::path& folder) {
  const fs::path output = folder / "frames";
  const FileDescriptor to = FileDescriptor::open(output, O_WRONLY | O_CREAT | O_TRUNC);
  ChildProcess process({.arguments = {"tcpdump", "-n", "-r", file}, .standard_output = to.get()});
  EXPECT_EQ(process.wait().code, 0);
  return read_file(output);
}

// Other folders than the working one are up to the caller of `thinpipe shell`.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

class LookingInside : public testing::Test {
 protected:
  ~LookingInside() override { EXPECT_THAT(processes_marked(program_.mark()), IsEmpty()); }

  // Starts an endless run and returns its folder, which has the network's file.
  fs::path start(const std::vector<std::string>& more = {}) {
    controller_.emplace(program_.start(program_.run_arguments(program_.experiment(endless), more)));
    fs::path found;
    EXPECT_TRUE(eventually(
        [&] {
          std::error_code missing;
          for (const auto& entry : fs::recursive_directory_iterator(program_.results(), missing)) {
            if (entry.path().filename() == "iterations.jsonl" && entry.file_size() > 1000)
              found = entry.path().parent_path();
          }
          return !found.empty();
        },
        60s));
    return found;
  }

  // Runs `thinpipe` beside the run, and returns how it ended.
  Program::Ended beside(const std::vector<std::string>& arguments) const { return other_.run(arguments); }

  void end(int signal) {
    controller_->signal(signal);
    program_.finish(std::move(*controller_));
  }

  Program program_;
  Program other_;
  std::optional<ChildProcess> controller_;
};

TEST_F(LookingInside, AShellEntersTheHostsOfARunWhichGoesOn) {
  const fs::path folder = start();
  const auto ended = beside({"shell", "--run", folder, "--host", "w1", "--", "sh", "-c",
                             "hostname; ip -brief address; getent hosts w2; ping -c 1 w2"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.output, testing::StartsWith("w1\n"));
  EXPECT_THAT(ended.output, HasSubstr("10.77.0.2/16"));
  EXPECT_THAT(ended.output, HasSubstr("10.77.0.3       w2\n"));
  EXPECT_THAT(ended.output, HasSubstr(" 0% packet loss"));
  const auto before = fs::file_size(folder / "iterations.jsonl");
  EXPECT_TRUE(eventually([&] { return fs::file_size(folder / "iterations.jsonl") > before; }, 20s));
  end(SIGTERM);
  const auto late = beside({"shell", "--run", folder, "--", "true"});
  EXPECT_EQ(late.status.code, 1);
  EXPECT_THAT(late.errors, HasSubstr("no process holds it; the run has ended"));
}

TEST_F(LookingInside, ACaptureOfAKilledRunIsReadable) {
  const fs::path folder = start({"--capture", "w0-left,bottlenecks"});
  const auto ping = beside({"shell", "--run", folder, "--host", "w0", "--", "ping", "-c", "2", "w2"});
  EXPECT_EQ(ping.status.code, 0) << ping.errors;
  std::this_thread::sleep_for(1s);
  end(SIGKILL);
  EXPECT_THAT(tcpdump(folder / "w0-left.pcap", program_.folder()),
              HasSubstr("IP 10.77.0.1 > 10.77.0.3: ICMP echo request"));
  for (const char* const name : {"left-middle.pcap", "middle-right.pcap"})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
}

// Nothing tells when its training begins.
TEST_F(LookingInside, AScriptWithoutReportsIsCapturedToo) {
  const Json script = {
      {"topology", "three-switch"},
      {"workers", 2},
      {"trainer", {{"command", {"ping", "-c", "2", "10.77.0.2"}}, {"inputs", Json::array()}}}};
  const auto ended =
      program_.run(program_.run_arguments(program_.experiment(script), {"--capture", "w1-left"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  const std::string run = program_.record("base").at("run_id");
  EXPECT_THAT(tcpdump(program_.results() / "test" / run / "w1-left.pcap", program_.folder()),
              HasSubstr("IP 10.77.0.1 > 10.77.0.2: ICMP echo request"));
}

TEST_F(LookingInside, AShellCapturesIntoTheWorkingFolder) {
  const WorkingFolder here(program_.folder());
  const auto ended = beside(
      {"shell", "three-switch", "--capture", "left-middle", "--host", "w0", "--", "ping", "-c", "2", "w7"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors,
              testing::ContainsRegex("captured [1-9][0-9]* frames of left-middle in left-middle.pcap"));
  EXPECT_THAT(tcpdump("left-middle.pcap", program_.folder()),
              HasSubstr("IP 10.77.0.8 > 10.77.0.1: ICMP echo reply"));
}

TEST_F(LookingInside, WhatCannotBeCapturedOrEnteredIsRefused) {
  const auto refusal = [this](const std::vector<std::string>& arguments) {
    const auto ended = beside(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    return ended.errors;
  };
  EXPECT_THAT(refusal({"shell", "three-switch", "--capture", "left-right", "--", "true"}),
              HasSubstr("--capture: unknown link \"left-right\""));
  EXPECT_THAT(refusal(other_.run_arguments(other_.experiment(loopback), {"--capture", "bottlenecks"})),
              HasSubstr("--capture: no run of this experiment emulates a network"));
  EXPECT_THAT(refusal(other_.run_arguments(other_.experiment(endless), {"--capture", "w0-right"})),
              HasSubstr("unknown link \"w0-right\""));
  EXPECT_THAT(
      refusal({"shell", "three-switch", "--capture", "bottlenecks", "--capture-size", "1 B", "--", "true"}),
      HasSubstr("--capture-size"));
  EXPECT_THAT(refusal({"shell", "--run", program_.folder(), "--", "true"}), HasSubstr("has no network.json"));
  EXPECT_THAT(refusal({"shell", "three-switch", "--run", program_.folder(), "--", "true"}),
              HasSubstr("TOPOLOGY: must not be given"));
  EXPECT_THAT(refusal({"shell", "--run", program_.folder(), "--capture", "left-middle", "--", "true"}),
              HasSubstr("--capture: works with thinpipe run"));
  EXPECT_THAT(refusal({"shell", "--run", program_.folder(), "--idle-cores", "awake", "--", "true"}),
              HasSubstr("--idle-cores"));
  EXPECT_THAT(refusal({"shell", "three-switch", "--capture-size", "1 MB", "--", "true"}),
              HasSubstr("--capture"));
  EXPECT_THAT(refusal({"shell"}), HasSubstr("TOPOLOGY: is missing"));
}

}  // namespace
}  // namespace thinpipe
