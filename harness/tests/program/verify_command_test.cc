// SPDX-License-Identifier: Apache-2.0
// thinpipe verify: output and exit codes. Tests of netem check the measurements.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Two hosts and a link that is slow enough for a busy machine.
std::string slow_pair(const Program& program) {
  std::string path = program.folder() / "pair.json";
  std::ofstream(path) << R"({"name": "pair", "hosts": ["a", "b"],
      "links": [{"between": ["a", "b"], "rate": "1 Mbit/s", "bottleneck": true}]})";
  return path;
}

TEST(VerifyCommand, TellsAskedFromMeasuredAndItsExitCodeIsTheVerdict) {
  const Program program;
  const auto ended = program.run({"verify", slow_pair(program), "--set", "bottleneck.burst=1 ms", "--set",
                                  "bottleneck.rate=50 Mbit/s", "--set", "bottleneck.queue=20 ms", "--set",
                                  "bottleneck.queueing=fair", "--quick", "--json"});
  const Json answer = Json::parse(ended.output);
  EXPECT_EQ(ended.status.code, answer.at("verdict") == "as specified" ? 0 : 1) << ended.output;
  EXPECT_EQ(answer.at("topology").at("links").at(0).at("rate"), "50 Mbit/s");
  EXPECT_EQ(answer.at("topology").at("links").at(0).at("burst"), "6.25 kB");
  EXPECT_EQ(answer.at("topology").at("links").at(0).at("queue"), "125 kB");
  EXPECT_EQ(answer.at("topology").at("links").at(0).at("queueing"), "fair");
  EXPECT_TRUE(answer.at("machine").contains("kernel"));
  bool measured = false;
  for (const Json& one : answer.at("measurements")) {
    if (one.at("what") != "goodput of one flow" || one.at("subject") != "a->b") continue;
    measured = true;
    EXPECT_NEAR(one.at("specified").get<double>(), 50e6 * 1448 / 1514, 1);
    // A busy machine may stay below the cap, but not exceed it.
    EXPECT_GT(one.at("measured").get<double>(), 0);
    EXPECT_LT(one.at("measured").get<double>(), 1.1 * one.at("specified").get<double>());
  }
  EXPECT_TRUE(measured);
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(VerifyCommand, PrintsATable) {
  const Program program;
  const auto ended =
      program.run({"verify", slow_pair(program), "--quick", "--set", "bottleneck.rate=50 Mbit/s"});
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("verdict"), HasSubstr("a->b  rate in the kernel"), HasSubstr("50.000 Mbit/s"),
                    HasSubstr("within 10 %"), HasSubstr("The network ")));
}

TEST(VerifyCommand, WrongInputIsAnsweredFirst) {
  const Program program;
  const auto loopback = program.run({"verify", "loopback"});
  EXPECT_EQ(loopback.status.code, 2);
  EXPECT_THAT(loopback.errors, HasSubstr("has no virtual network"));
  EXPECT_THAT(program.run({"verify", "cluster-4"}).errors, HasSubstr("is of kind \"cluster\""));
  EXPECT_EQ(program.run({"verify", "no/such.json"}).status.code, 2);
  const auto unmarked = program.run({"verify", "three-switch", "--set", "bottleneck.ecn=true"});
  EXPECT_EQ(unmarked.status.code, 2);
  EXPECT_THAT(unmarked.errors, HasSubstr("needs a queue that marks frames, but \"fair\" drops them"));
  EXPECT_THAT(program.run({"verify", "three-switch", "--set", "bottleneck.queueing=rde"}).errors,
              HasSubstr("\"red\""));
  EXPECT_THAT(program.run({"verify", "--help"}).output, HasSubstr("Exit codes:"));
}

}  // namespace
}  // namespace thinpipe
