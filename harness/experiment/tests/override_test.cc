// SPDX-License-Identifier: Apache-2.0
// --set, typed by the descriptions of the keys.
#include "harness/experiment/override.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/plan/run_plan.hh"
#include "harness/schema/override_types.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The form of trainer/commands/describe.hh.
Json description_of_a_trainer() {
  const auto option = [](const char* key, const char* type) { return Json{{"key", key}, {"type", type}}; };
  const auto named = [](const char* key, const char* registry) {
    return Json{{"key", key}, {"registry", registry}, {"selector", "name"}};
  };
  const Json targets = {{"key", "targets"}, {"list", true}, {"any_of", {{{"type", "string"}}}}};
  const Json training = {{"key", "training"},
                         {"options", {option("epochs", "integer"), option("clip_norm", "number")}}};
  return {{"configuration",
           {named("dataset", "datasets"),
            named("synchroniser", "synchronisers"),
            training,
            targets,
            {{"key", "pretraining"}, {"options", {named("dataset", "datasets")}}},
            {{"key", "weights"}, {"options", {option("file", "string")}}}}},
          {"datasets",
           {{"mnist", {{"options", {option("directory", "string"), option("part", "string")}}}},
            {"cifar10", {{"options", {option("directory", "string"), option("part", "integer")}}}}}},
          {"synchronisers",
           {{"topk", {{"options", {option("ratio", "number"), option("error_feedback", "boolean")}}}},
            {"ef", {{"options", {option("method", "implementation")}}}},
            {"qsgd", {{"options", {option("rounding", "string")}}}}}}};
}

const IsText& types() {
  static const IsText described = described_text(description_of_a_trainer);
  return described;
}

struct Typed {
  const char* assignment;
  Json patch;
};

class Override : public testing::TestWithParam<Typed> {};

TEST_P(Override, TakesTheTypeOfItsField) {
  EXPECT_EQ(parse_override(GetParam().assignment, types()).patch, GetParam().patch);
}

INSTANTIATE_TEST_SUITE_P(
    Text, Override,
    testing::Values(Typed{"topology=123", {{"topology", "123"}}},
                    Typed{"dataset.name=123", {{"dataset", {{"name", "123"}}}}},
                    Typed{"dataset.directory=2026", {{"dataset", {{"directory", "2026"}}}}},
                    Typed{"pretraining.dataset.directory=true",
                          {{"pretraining", {{"dataset", {{"directory", "true"}}}}}}},
                    Typed{"weights.file=[1]", {{"weights", {{"file", "[1]"}}}}},
                    Typed{"weights.file=\"a b\"", {{"weights", {{"file", "a b"}}}}},
                    Typed{"weights.file=null", {{"weights", {{"file", nullptr}}}}},
                    Typed{"bottleneck.rate=100", {{"bottleneck", {{"rate", "100"}}}}},
                    Typed{"bottleneck.rate=1 Gbit/s", {{"bottleneck", {{"rate", "1 Gbit/s"}}}}},
                    Typed{"rate_trace.file=7", {{"rate_trace", {{"file", "7"}}}}},
                    Typed{"mode=1", {{"mode", "1"}}},
                    Typed{"trainer.program=1", {{"trainer", {{"program", "1"}}}}},
                    Typed{"compute_profile.device=40", {{"compute_profile", {{"device", "40"}}}}},
                    Typed{"synchroniser.method.name=8", {{"synchroniser", {{"method", {{"name", "8"}}}}}}},
                    Typed{"synchroniser.method.rounding=8",
                          {{"synchroniser", {{"method", {{"rounding", "8"}}}}}}}));

INSTANTIATE_TEST_SUITE_P(
    Others, Override,
    testing::Values(Typed{"training.epochs=3", {{"training", {{"epochs", 3}}}}},
                    Typed{"training.epochs=three", {{"training", {{"epochs", "three"}}}}},
                    Typed{"training.clip_norm=null", {{"training", {{"clip_norm", nullptr}}}}},
                    Typed{"synchroniser.ratio=0.1", {{"synchroniser", {{"ratio", 0.1}}}}},
                    Typed{"synchroniser.error_feedback=true", {{"synchroniser", {{"error_feedback", true}}}}},
                    Typed{"targets=[0.8]", {{"targets", {0.8}}}},
                    Typed{"dataset.part=3", {{"dataset", {{"part", 3}}}}},  // some data sets take a number
                    Typed{"on_worker_failure={\"at_most\": 2}", {{"on_worker_failure", {{"at_most", 2}}}}},
                    Typed{"on_worker_failure.at_most=2", {{"on_worker_failure", {{"at_most", 2}}}}},
                    Typed{"workers=2", {{"workers", 2}}},
                    Typed{"dataset={\"name\": \"mnist\"}", {{"dataset", {{"name", "mnist"}}}}},
                    Typed{"unknown.key=3", {{"unknown", {{"key", 3}}}}}));

TEST(Override, TheTrainerIsAskedOnceAndOnlyAboutItsOwnKeys) {
  int asked = 0;
  const IsText is_text = described_text([&asked] {
    ++asked;
    return description_of_a_trainer();
  });
  for (const char* assignment : {"workers=4", "bottleneck.rate=100", "topology=7", "weights.file=mine.pt",
                                 "training.clip_norm=null"}) {
    parse_override(assignment, is_text);
  }
  EXPECT_EQ(asked, 0);
  for (const char* assignment : {"training.epochs=3", "weights.file=7", "unknown.key=3"}) {
    parse_override(assignment, is_text);
  }
  EXPECT_EQ(asked, 1);
}

// Returns the message about a value of the wrong type; "accepted" if it is not refused.
std::string refusal_of_override(const std::string& assignment) {
  try {
    plan_runs(parse_experiment(R"({"base": {}})", "e.json", {assignment}, types()),
              TrainerProgram(built_program("thinpipe-fake-trainer")));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Override, ErrorsNameTheOptionAndTheRule) {
  EXPECT_EQ(refusal_of_override("workers=three"),
            "--set workers=three: must be a whole number, but is \"three\"");
  EXPECT_EQ(refusal_of_override("workers=0"), "--set workers=0: must be at least 1, but is 0");
  EXPECT_EQ(refusal_of_override("bottleneck.rate=100"),
            "--set bottleneck.rate=100: \"100\" has no unit; write it like \"100 Mbit/s\"");
  EXPECT_THAT(refusal_of_override("topology=123"),
              StartsWith("--set topology=123: unknown topology \"123\""));
  EXPECT_THAT(refusal_of_override("worker=3"), HasSubstr("did you mean \"workers\"?"));
  EXPECT_EQ(refusal_of_override("workers=null"), "accepted");
}

TEST(Override, IsReadAsStrictlyAsAFile) {
  EXPECT_THAT(refusal_of_override(R"(synchroniser={"name":"topk","ratio":0.1,"ratio":0.01})"),
              HasSubstr("the key \"ratio\" is given twice"));
  EXPECT_THAT(refusal_of_override("targets=" + std::string(200, '[') + std::string(200, ']')),
              HasSubstr("nested more than 100 deep"));
  std::string path = "a";
  for (int i = 0; i < 200; ++i) path += ".a";
  EXPECT_THAT(refusal_of_override(path + "=1"), HasSubstr("a path of 201 keys"));
}

}  // namespace
}  // namespace thinpipe
