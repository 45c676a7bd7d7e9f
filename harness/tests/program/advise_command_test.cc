// SPDX-License-Identifier: Apache-2.0
// thinpipe advise with the stand-in for the worker program.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The command line for the stand-in, which has three methods.
std::vector<std::string> command(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"advise",    "three-switch",   "--model",         "m",
                                        "--methods", "topk ratio=0.1", "--encode-decode", "none"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(AdviseCommand, ComparesMethodsAndWritesNothing) {
  const Program program;
  const auto ended = program.run(command({"--compute", "50 us", "--json"}));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  const Json advice = Json::parse(ended.output);
  EXPECT_EQ(advice.at("caps"), Json{"100 Mbit/s"});
  EXPECT_EQ(advice.at("workers"), 8);
  ASSERT_EQ(advice.at("methods").size(), 3) << "dense and fp16 are always there";
  const Json& topk = advice.at("methods").at(2);
  EXPECT_EQ(topk.at("method"), "topk ratio=0.1");
  EXPECT_EQ(topk.at("payload_bytes_per_iteration"), 40);
  EXPECT_GT(topk.at("speed_up_over_dense"), 1);
  EXPECT_EQ(topk.at("iteration_time_by_rate_s").size(), 25);
  EXPECT_THAT(program.written(), IsEmpty());
}

TEST(AdviseCommand, TheTopologysCapsAndTheNumberOfWorkersCanBeSet) {
  const Program program;
  const auto ended = program.run(command(
      {"--compute", "50 us", "--workers", "4", "--set", "bottleneck.rate=1 Gbit/s", "--rates", "1 Gbit/s"}));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(
      ended.output,
      AllOf(StartsWith("model m: 100 parameters, 4 workers, topology three-switch at 1 Gbit/s"),
            HasSubstr("Encode and decode times are left out"), HasSubstr("Accuracy is not predicted")));
}

TEST(AdviseCommand, MeasuresAModelsComputeTime) {
  const Program program;
  const auto ended = program.run(command({"--set", "iteration_time=20 ms", "--json"}));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("measuring the compute time"));
  EXPECT_EQ(Json::parse(ended.output).at("compute_time_s"), 0.02);
}

TEST(AdviseCommand, UnknownEncodeTimesAreMarked) {
  const Program program;
  const auto ended = program.run(
      {"advise", "three-switch", "--model", "m", "--compute", "50 us", "--methods", "topk ratio=0.1"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("unknown"), HasSubstr("Unknown encode+decode"), HasSubstr("(?)")));
}

TEST(AdviseCommand, RefusesWithARemedy) {
  const Program program;
  const auto refusal = [&program](const std::vector<std::string>& arguments) {
    const auto ended = program.run(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    return ended.errors;
  };
  EXPECT_THAT(refusal({"advise", "--model", "m"}), HasSubstr("needs a TOPOLOGY, such as three-switch"));
  EXPECT_THAT(refusal({"advise", "thre-switch", "--model", "m"}), HasSubstr("did you mean \"three-switch\""));
  EXPECT_THAT(refusal({"advise", "loopback", "--model", "m"}), HasSubstr("no links to relieve"));
  EXPECT_THAT(refusal({"advise", "three-switch"}), HasSubstr("needs either --model NAME"));
  EXPECT_THAT(refusal({"advise", "three-switch", "--model", "mm"}),
              AllOf(HasSubstr("--model mm"), HasSubstr("did you mean \"m\"")));
  EXPECT_THAT(refusal({"advise", "three-switch", "--parameters", "25e6"}), HasSubstr("needs --compute"));
  EXPECT_THAT(refusal({"advise", "three-switch", "--parameters", "25", "--compute", "1 ms"}),
              HasSubstr("must be at least 10000"));
  EXPECT_THAT(refusal(command({"--compute", "fast"})), HasSubstr("--compute fast"));
  EXPECT_THAT(refusal(command({"--rates", "1 Gbit"})), HasSubstr("--rates 1 Gbit"));
  EXPECT_THAT(refusal(command({"--methods", "tokp"})), HasSubstr("did you mean \"topk\""));
  EXPECT_THAT(refusal(command({"--compute", "1 ms", "--methods", "topk ratio=1e-1"})),
              HasSubstr("--methods topk ratio=1e-1: is the same configuration as another"));
  EXPECT_THAT(refusal(command({"--compute", "1 ms", "--workers", "9"})), HasSubstr("at most 8"));
  EXPECT_THAT(refusal(command({"--compute", "1 ms", "--set", "mode=simulate"})), HasSubstr("leave out mode"));
  EXPECT_THAT(refusal(command({"--against", "results"})), HasSubstr("leave out TOPOLOGY"));
  std::ofstream(program.folder() / "uncapped.json")
      << R"({"name": "uncapped", "switches": ["s"], "hosts": ["a", "b"], "links": [{"between": [["a", "b"], "s"]}]})";
  EXPECT_THAT(refusal({"advise", (program.folder() / "uncapped.json").string(), "--model", "m"}),
              HasSubstr("has no bottleneck whose cap could decide"));
}

TEST(AdviseCommand, ComparesItsPredictionsWithRecords) {
  const Program program;
  const auto ended = program.run({"advise", "--against", quickstart_records()});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json rows = Json::parse(ended.output);
  ASSERT_EQ(rows.size(), 6);
  for (const Json& row : rows) {
    EXPECT_EQ(row.at("compute_is_own"), false);
    EXPECT_EQ(row.at("compute_from"), rows.at(0).at("compute_from")) << "all have the dense run's";
    EXPECT_LT(row.at("predicted_iteration_time_s"), row.at("measured_iteration_time_s"))
        << "it is a lower bound";
  }
}

}  // namespace
}  // namespace thinpipe
