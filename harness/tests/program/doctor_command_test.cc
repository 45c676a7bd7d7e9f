// SPDX-License-Identifier: Apache-2.0
// thinpipe doctor on this machine, which can build networks, as other tests show.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::map<std::string, Json> by_name(const Json& answer) {
  std::map<std::string, Json> out;
  for (const Json& finding : answer.at("findings")) out[finding.at("name")] = finding;
  return out;
}

TEST(DoctorCommand, FindsWhatALiveRunNeeds) {
  const std::string mounts = read_file("/proc/self/mountinfo");
  const Program program;
  const auto ended = program.run({"doctor", "--json", "--set", "bottleneck.rate=10 Mbit/s"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors << ended.output;
  const Json answer = Json::parse(ended.output);
  EXPECT_EQ(answer.at("ready"), true);
  auto findings = by_name(answer);
  for (const char* const name : {"user namespaces", "qdisc tbf", "qdisc bfifo", "congestion controls",
                                 "virtual network", "priorities", "worker program", "LibTorch", "Gloo"}) {
    EXPECT_EQ(findings[name]["ok"], true) << findings[name];
    EXPECT_EQ(findings[name]["needed"], true) << name;
  }
  EXPECT_THAT(findings["virtual network"]["found"].get<std::string>(),
              HasSubstr("three-switch with 8 hosts"));
  EXPECT_THAT(findings["cpus"]["found"].get<std::string>(),
              HasSubstr("filling the 4 caps of three-switch at once, 40 Mbit/s in all"));
  EXPECT_TRUE(findings.contains("qdisc netem"));
  EXPECT_TRUE(findings.contains("control groups"));
  // Answers of the stand-in for the worker program.
  EXPECT_EQ(findings["NCCL"]["ok"], false);
  EXPECT_EQ(findings["CUDA"]["ok"], false);
  EXPECT_THAT(findings["CUDA"]["found"].get<std::string>(), HasSubstr("0 devices"));
  EXPECT_EQ(findings["data set d"]["ok"], true);
  EXPECT_EQ(findings["data set absent"]["ok"], false);
  EXPECT_EQ(findings["data set absent"]["remedy"], "\"directory\": where it would lie");
  EXPECT_EQ(read_file("/proc/self/mountinfo"), mounts);
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(DoctorCommand, AMissingWorkerProgramIsAFailureWithARemedy) {
  const Program program("/no/such/trainer");
  const auto ended = program.run({"doctor", "--set", "bottleneck.rate=1 Mbit/s"});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.output,
              HasSubstr("FAILS  worker program: cannot find the worker program /no/such/trainer"));
  EXPECT_THAT(ended.output, HasSubstr("remedy: build the target thinpipe-trainer"));
  EXPECT_THAT(ended.output, HasSubstr("A live run needs each item that FAILS above."));
}

TEST(DoctorCommand, ForbiddenNamespacesAreAFailureThatNamesTheRemedy) {
  // Runs the program inside a user namespace that allows no further ones.
  const Program program;
  const std::string forbid = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" doctor";
  const Output output = run_program({"unshare", "-r", "sh", "-c", forbid, built_program("thinpipe")});
  EXPECT_EQ(output.status.code, 1);
  EXPECT_THAT(output.text, HasSubstr("FAILS  user namespaces: cannot create the namespaces"));
  EXPECT_THAT(output.text, HasSubstr("user.max_user_namespaces is 0"));
  EXPECT_THAT(output.text, HasSubstr("smoke-loopback"));
}

TEST(DoctorCommand, WrongInputIsAnsweredFirst) {
  const Program program;
  const auto ended = program.run({"doctor", "tree-switch"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("did you mean \"three-switch\""));
  EXPECT_THAT(program.run({"doctor", "--help"}).output, HasSubstr("Examples:"));
}

}  // namespace
}  // namespace thinpipe
