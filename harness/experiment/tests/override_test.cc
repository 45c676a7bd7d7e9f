// --set, typed by the schema of experiments.
#include "harness/experiment/override.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/plan/run_plan.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Json& schema() {
  static const Json text = parse_json_file(source_path("harness/schema/experiment.schema.json"));
  return text;
}

struct Typed {
  const char* assignment;
  Json patch;
};

class Override : public testing::TestWithParam<Typed> {};

TEST_P(Override, TakesTheTypeOfItsField) {
  EXPECT_EQ(parse_override(GetParam().assignment, schema()).patch, GetParam().patch);
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
                    Typed{"rate_trace.file=7", {{"rate_trace", {{"file", "7"}}}}}));

INSTANTIATE_TEST_SUITE_P(
    Others, Override,
    testing::Values(Typed{"training.epochs=3", {{"training", {{"epochs", 3}}}}},
                    Typed{"training.epochs=three", {{"training", {{"epochs", "three"}}}}},
                    Typed{"training.clip_norm=null", {{"training", {{"clip_norm", nullptr}}}}},
                    Typed{"synchroniser.ratio=0.1", {{"synchroniser", {{"ratio", 0.1}}}}},
                    Typed{"synchroniser.error_feedback=true", {{"synchroniser", {{"error_feedback", true}}}}},
                    Typed{"targets=[0.8]", {{"targets", {0.8}}}},
                    Typed{"dataset={\"name\": \"mnist\"}", {{"dataset", {{"name", "mnist"}}}}},
                    Typed{"unknown.key=3", {{"unknown", {{"key", 3}}}}}));

// Returns the message about a value of the wrong type; "accepted" if it is not refused.
std::string refusal_of_override(const std::string& assignment) {
  try {
    plan_runs(parse_experiment(R"({"base": {}})", "e.json", {assignment}, schema()),
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
