// SPDX-License-Identifier: Apache-2.0
// What the schema of experiments and the reader make of the harness's keys, case by case. For the trainer's
// keys see configuration_schema_test.cc.
#include "harness/schema/experiment_schema.hh"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/json_schema.hh"
#include "common/support/tests/paths.hh"
#include "harness/plan/run_plan.hh"

namespace thinpipe {
namespace {

using testing::IsEmpty;

const TrainerProgram& fake_trainer() {
  static const TrainerProgram program(built_program("thinpipe-fake-trainer"));
  return program;
}

const Json& schema_text() {
  static const Json text = experiment_schema(fake_trainer().describe());
  return text;
}

std::vector<std::string> violations(const std::string& text) {
  static const JsonSchema schema(schema_text());
  return schema.violations(Json::parse(text));
}

// Returns the reader's error; "" if there is none.
std::string refusal(const std::string& text) {
  try {
    plan_runs(parse_experiment(text, source_path("experiments/e.json")), fake_trainer());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  const char* name;
  const char* text;
};

class Wrong : public testing::TestWithParam<Case> {};
class Right : public testing::TestWithParam<Case> {};
class Related : public testing::TestWithParam<Case> {};

TEST_P(Wrong, IsRefusedBySchemaAndReader) {
  EXPECT_FALSE(violations(GetParam().text).empty()) << "the schema accepts it";
  EXPECT_NE(refusal(GetParam().text), "");
}

TEST_P(Right, IsAcceptedBySchemaAndReader) {
  EXPECT_THAT(violations(GetParam().text), IsEmpty());
  EXPECT_EQ(refusal(GetParam().text), "");
}

// The schema must accept violations of rules over several values, which only the program checks.
TEST_P(Related, IsRefusedByTheReaderAlone) {
  EXPECT_THAT(violations(GetParam().text), IsEmpty());
  EXPECT_NE(refusal(GetParam().text), "");
}

const auto name_of_case = [](const auto& tested) { return std::string(tested.param.name); };

INSTANTIATE_TEST_SUITE_P(
    ExperimentSchema, Wrong,
    testing::Values(
        Case{"NoBase", R"({})"}, Case{"AList", R"([])"}, Case{"UnknownMember", R"({"base": {}, "swep": {}})"},
        Case{"BaseIsAList", R"({"base": [1]})"}, Case{"NameWithSlash", R"({"base": {}, "name": "../x"})"},
        Case{"HiddenName", R"({"base": {}, "name": ".x"})"}, Case{"EmptyName", R"({"base": {}, "name": ""})"},
        Case{"NumberForAName", R"({"base": {}, "name": 3})"},
        Case{"NumberForADescription", R"({"base": {}, "description": 3})"},
        Case{"SweepIsAList", R"({"base": {}, "sweep": ["seed"]})"},
        Case{"AxisIsANumber", R"({"base": {}, "sweep": {"seed": 3}})"},
        Case{"EmptyAxis", R"({"base": {}, "sweep": {"method": {}}})"},
        Case{"EmptyList", R"({"base": {}, "sweep": {"workers": []}})"},
        Case{"LabelWithoutPatch", R"({"base": {}, "sweep": {"method": {"a": 3}}})"},
        Case{"UnknownKeyInAPatch", R"({"base": {}, "sweep": {"method": {"a": {"worker": 3}}}})"},
        Case{"WrongTypeInAPatch", R"({"base": {}, "sweep": {"method": {"a": {"workers": "3"}}}})"},
        Case{"WrongTypeInAList", R"({"base": {}, "sweep": {"workers": [2, "3"]}})"},
        Case{"WrongUnitInAList", R"({"base": {}, "sweep": {"bottleneck.rate": ["1 Gbit"]}})"},
        Case{"UnknownPath", R"({"base": {}, "sweep": {"worker": [2]}})"},
        Case{"UnknownPathOfARange", R"({"base": {}, "sweep": {"worker": {"from": 1, "to": 2, "step": 1}}})"},
        Case{"RangeOfText", R"({"base": {}, "sweep": {"topology": {"from": 1, "to": 2, "step": 1}}})"},
        Case{"RangeWithoutStep", R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 2}}})"},
        Case{"RangeWithStepZero", R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 2, "step": 0}}})"},
        Case{"RangeWithStepAndFactor",
             R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 2, "step": 1, "factor": 2}}})"},
        Case{"RangeWithFactorOne",
             R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 2, "factor": 1}}})"},
        Case{"RangeOfRatesWithoutUnits",
             R"({"base": {}, "sweep": {"bottleneck.rate": {"from": 1, "to": 2, "step": 1}}})"},
        Case{"RangeOfDurationsForARate",
             R"({"base": {}, "sweep": {"bottleneck.rate": {"from": "1 s", "to": "2 s", "step": "1 s"}}})"},
        Case{"RangeOfLetters", R"({"base": {}, "sweep": {"workers": {"from": "a", "to": 2, "step": 1}}})"},
        Case{"RangeWithMore",
             R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 2, "step": 1, "by": 1}}})"},
        Case{"PairsThatAreNone", R"({"base": {}, "sweep": {"workers, seed": [2, 3]}})"},
        Case{"PairOfOne", R"({"base": {}, "sweep": {"workers, seed": [[2]]}})"},
        Case{"RangeOfPairs", R"({"base": {}, "sweep": {"workers, seed": {"from": 1, "to": 2, "step": 1}}})"},
        Case{"ExcludeIsAnObject", R"({"base": {}, "sweep": {"workers": [2]}, "exclude": {"workers": 2}})"},
        Case{"EmptyExclusion", R"({"base": {}, "sweep": {"workers": [2]}, "exclude": [{}]})"},
        Case{"ExclusionByANumber", R"({"base": {}, "sweep": {"workers": [2]}, "exclude": [2]})"},
        Case{"RepeatZero", R"({"base": {}, "repeat": 0})"},
        Case{"RepeatText", R"({"base": {}, "repeat": "3"})"},
        Case{"RepeatAHalf", R"({"base": {}, "repeat": 1.5})"},
        Case{"RepeatTooOften", R"({"base": {}, "repeat": 100001})"},
        Case{"UnknownMode", R"({"base": {"mode": "lively"}})"},
        Case{"UnknownTopology", R"({"base": {"topology": "three-swich"}})"},
        Case{"NumberForATopology", R"({"base": {"topology": 3}})"},
        Case{"UnknownKey", R"({"base": {"worker": 3}})"}, Case{"NoWorkers", R"({"base": {"workers": 0}})"},
        Case{"HalfAWorker", R"({"base": {"workers": 1.5}})"},
        Case{"TextForWorkers", R"({"base": {"workers": "2"}})"},
        Case{"RateWithoutUnit", R"({"base": {"bottleneck": {"rate": 100}}})"},
        Case{"RateInBytes", R"({"base": {"bottleneck": {"rate": "100 MB"}}})"},
        Case{"RateZero", R"({"base": {"bottleneck": {"rate": "0 Mbit/s"}}})"},
        Case{"NegativeRate", R"({"base": {"bottleneck": {"rate": "-1 Mbit/s"}}})"},
        Case{"UnknownKeyOfABottleneck", R"({"base": {"bottleneck": {"rat": "1 Mbit/s"}}})"},
        Case{"BottleneckIsText", R"({"base": {"bottleneck": "1 Mbit/s"}})"},
        Case{"EventsAreAnObject", R"({"base": {"network_events": {"at": "1 s"}}})"},
        Case{"EventWithoutTime", R"({"base": {"network_events": [{"link": "bottlenecks", "loss": 0}]}})"},
        Case{"EventWithoutLink", R"({"base": {"network_events": [{"at": "1 s", "loss": 0}]}})"},
        Case{"EventThatChangesNothing",
             R"({"base": {"network_events": [{"at": "1 s", "link": "bottlenecks"}]}})"},
        Case{
            "EventOfStateAndRate",
            R"({"base": {"network_events": [{"at": "1 s", "link": "bottlenecks", "state": "up", "rate": "1 Mbit/s"}]}})"},
        Case{"EventOfUnknownState",
             R"({"base": {"network_events": [{"at": "1 s", "link": "bottlenecks", "state": "off"}]}})"},
        Case{"EventBeforeTheStart",
             R"({"base": {"network_events": [{"at": "-1 s", "link": "bottlenecks", "rate": "1 Mbit/s"}]}})"},
        Case{"EventAtNull",
             R"({"base": {"network_events": [{"at": null, "link": "bottlenecks", "rate": "1 Mbit/s"}]}})"},
        Case{"EventThatLosesAll",
             R"({"base": {"network_events": [{"at": "1 s", "link": "bottlenecks", "loss": 1}]}})"},
        Case{
            "EventWithUnknownKey",
            R"({"base": {"network_events": [{"at": "1 s", "link": "bottlenecks", "loss": 0, "rates": "1 Mbit/s"}]}})"},
        Case{"UnknownTrace", R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1"}}})"},
        Case{"TraceWithPeriodZero",
             R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "period": "0 s"}}})"},
        Case{"TraceWithUnknownKey",
             R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "speed": 2}}})"},
        Case{"TraceByUnknownClock",
             R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "clock": "sun"}}})"},
        Case{"FaultOfNobody", R"({"base": {"worker_events": [{"at": "1 s", "action": "kill"}]}})"},
        Case{"FaultWithoutTime", R"({"base": {"worker_events": [{"worker": 1, "action": "kill"}]}})"},
        Case{
            "FaultWithTwoTimes",
            R"({"base": {"worker_events": [{"worker": 1, "action": "kill", "at": "1 s", "at_iteration": 1}]}})"},
        Case{"UnknownFault",
             R"({"base": {"worker_events": [{"worker": 1, "at": "1 s", "action": "slow"}]}})"},
        Case{"SlowdownByTheClock",
             R"({"base": {"worker_events": [{"worker": 1, "at": "1 s", "slowdown": 2}]}})"},
        Case{
            "SlowdownAndKill",
            R"({"base": {"worker_events": [{"worker": 1, "at_iteration": 1, "slowdown": 2, "action": "kill"}]}})"},
        Case{"SpeedUp", R"({"base": {"worker_events": [{"worker": 1, "slowdown": 0.5}]}})"},
        Case{"NumberForAProfile", R"({"base": {"mode": "simulate", "compute_profile": 3}})"},
        Case{"UnknownProfile", R"({"base": {"mode": "simulate", "compute_profile": "a4"}})"},
        Case{"UnknownProfileInAnObject",
             R"({"base": {"mode": "simulate", "compute_profile": {"device": "a4"}}})"},
        Case{
            "ProfileForNobody",
            R"({"base": {"mode": "simulate", "compute_profile": {"device": "a40", "batch_size_per_worker": 0}}})"},
        Case{"CommandAsText", R"({"base": {"trainer": {"command": "python3 train.py"}}})"},
        Case{"UnknownKeyOfACommand",
             R"({"base": {"trainer": {"command": ["true"], "inputs": [], "option": {}}}})"},
        Case{"OptionsInAList",
             R"({"base": {"trainer": {"command": ["true"], "inputs": [], "options": [1]}}})"},
        Case{"UnknownValueOfACurve",
             R"j({"base": {"trainer": {"command": ["true"], "inputs": [], "curve": {"accuracy": "(.)"}}}})j"},
        Case{"EmptyAxisOfAnOption", R"({"base": {}, "sweep": {"trainer.options.lr": []}})"},
        Case{"UnknownTrainer", R"({"base": {"trainer": {"program": "pytorch-dpd"}}})"},
        Case{"UnknownPolicy", R"({"base": {"on_worker_failure": "retry"}})"},
        Case{"NumberForAPolicy", R"({"base": {"on_worker_failure": 3}})"},
        Case{"NoRestarts", R"({"base": {"on_worker_failure": {"action": "restart", "at_most": 0}}})"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    ExperimentSchema, Right,
    testing::Values(
        Case{"EmptyBase", R"({"base": {}})"},
        Case{
            "Command",
            R"({"base": {"trainer": {"command": ["true", "{lr}"], "inputs": [], "options": {"lr": 0.1, "layers": [1]}}}})"},
        Case{"PatternsOfACurve",
             R"j({"base": {"trainer": {"command": ["true"], "inputs": [], "method": "m",
                           "curve": {"iteration": "step ([0-9]+)", "test_accuracy": "acc ([0-9.]+)"}}}})j"},
        Case{"AxisOfAnOption", R"({"base": {"trainer": {"command": ["true"], "inputs": []}},
                                   "sweep": {"trainer.options.lr": [0.1, "auto", {"initial": 1}]}})"},
        Case{"RangeOfAnOption", R"({"base": {"trainer": {"command": ["true"], "inputs": []}},
                                    "sweep": {"trainer.options.lr": {"from": 1, "to": 4, "factor": 2}}})"},
        Case{"AxisOfAMethod", R"({"base": {"trainer": {"command": ["true"], "inputs": []}},
                                  "sweep": {"trainer.method": ["dense", "sketch"]}})"},
        Case{
            "Comments",
            R"({"//": "c", "$schema": "s", "base": {"// a": [1], "bottleneck": {"//": 1, "rate": "1 Mbit/s"}},
                            "sweep": {"//": 1, "m": {"//": 1, "a": {"//": {"b": 1}}}}, "exclude": []})"},
        Case{"Nulls",
             R"({"base": {"workers": null, "topology": null, "bottleneck": null, "network_events": null,
                          "rate_trace": null, "mode": null}})"},
        Case{
            "NullInASweep",
            R"({"base": {"workers": 2}, "sweep": {"workers": [null, 3], "method": {"a": {"bottleneck": null}}}})"},
        Case{"Topologies", R"({"base": {}, "sweep": {"topology": ["pair", "../topologies/star.json"]}})"},
        Case{"Labels", R"({"base": {}, "sweep": {"any name": {"a, b": {"workers": 2}, "c": {}}}})"},
        Case{"LabelsNamedAsAPath",
             R"({"base": {}, "sweep": {"workers": {"few": {"workers": 2}, "from": {}}}})"},
        Case{"Values",
             R"({"base": {}, "sweep": {"workers": [2, 3], "bottleneck.rate": ["1 Gbit/s", "1.5e3kbit/s"]}})"},
        Case{"ObjectsAsValues",
             R"({"base": {}, "sweep": {"bottleneck": [{"rate": "1 Gbit/s"}, {"rate": "2 Gbit/s"}]}})"},
        Case{"Range", R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 5, "step": 2}}})"},
        Case{"GeometricRange", R"({"base": {}, "sweep": {"workers": {"from": 1, "to": 4, "factor": 2}}})"},
        Case{
            "RangeOfRates",
            R"({"base": {}, "sweep": {"bottleneck.rate": {"from": "100 Mbit/s", "to": "1 Gbit/s", "step": "100 Mbit/s"}}})"},
        Case{
            "GeometricRangeOfRates",
            R"({"base": {}, "sweep": {"bottleneck.rate": {"from": "100 Mbit/s", "to": "800 Mbit/s", "factor": 2}}})"},
        Case{"Pairs",
             R"({"base": {}, "sweep": {"workers, bottleneck.rate": [[2, "1 Gbit/s"], [3, "2 Gbit/s"]]}})"},
        Case{"Exclusion", R"({"base": {}, "sweep": {"workers": [2, 3], "m": {"a": {}}},
                             "exclude": [{"workers": 2, "m": ["a"]}]})"},
        Case{"Repeat", R"({"base": {}, "repeat": 3, "name": "a_b-1.c", "description": ""})"},
        Case{"Events", R"({"base": {"network_events": [
            {"at": "0 s", "link": "bottlenecks", "rate": "100 kbit/s", "delay": null},
            {"at": "1 min", "link": "left->middle", "loss": 0, "delay": "0 ms", "//": "c"},
            {"at": "2 h", "link": "left-middle", "state": "down"}]}})"},
        Case{"Trace",
             R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "period": null}}})"},
        Case{"TraceByTheClock",
             R"({"base": {"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "clock": "wall"}}})"},
        Case{"Faults", R"({"base": {"worker_events": [{"worker": 1, "slowdown": 2},
            {"worker": 2, "at_iteration": 5, "slowdown": 1},
            {"worker": 1, "at": "1 s", "action": "pause"},
            {"worker": 1, "at_iteration": 9, "action": "resume"}], "on_worker_failure": "restart"}})"},
        Case{"Profiles", R"({"base": {"mode": "simulate"}, "sweep": {"compute_profile":
            ["measured", "a40", {"device": "a40", "batch_size_per_worker": 32}, "../trainer/profiles/a40.json"]}})"},
        Case{"Trainers",
             R"({"base": {}, "sweep": {"trainer": ["pytorch-ddp", {"program": "pytorch-ddp"}]}})"},
        Case{"Hook", R"({"base": {"trainer": {"program": "pytorch-ddp",
            "hook": "../trainer/python/tests/methods/hooks.py:fp16"}}})"},
        Case{"HookWithOptions", R"({"base": {"trainer": {"program": "pytorch-ddp",
            "hook": {"name": "../trainer/python/tests/methods/hooks.py:made", "keeps": 2}}},
            "sweep": {"trainer.hook.keeps": [1, 2]}})"},
        Case{"NoFaults", R"({"base": {"worker_events": null, "on_worker_failure": null}})"},
        Case{"Policy",
             R"({"base": {"on_worker_failure": {"action": "restart", "checkpoint_every_iterations": 5}}})"},
        Case{"TraceOfAFile", R"({"base": {"rate_trace": {"link": "bottlenecks", "period": "48.5 s",
                                 "file": "../topologies/traces/100-to-1000.csv"}}})"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    ExperimentSchema, Related,
    testing::Values(
        Case{"MissingOption", R"({"base": {"rate_trace": {"file": "20-to-200"}}})"},
        Case{"CommandAndProgram",
             R"({"base": {"trainer": {"command": ["true"], "inputs": [], "program": "pytorch-ddp"}}})"},
        Case{"KeyWithoutEffect",
             R"({"base": {"trainer": {"command": ["true"], "inputs": []}, "model": {"name": "m"}}})"},
        Case{"UnknownPlaceholder", R"({"base": {"trainer": {"command": ["true", "{lr}"], "inputs": []}}})"},
        Case{"MoreWorkersThanHosts", R"({"base": {"workers": 9}})"},
        Case{"RateBeyondTheBounds", R"({"base": {"bottleneck": {"rate": "17 Gbit/s"}}})"},
        Case{"FaultOfAWorkerThatIsNotThere",
             R"({"base": {"worker_events": [{"worker": 8, "slowdown": 2}]}})"},
        Case{"ResumeWithoutAPause",
             R"({"base": {"worker_events": [{"worker": 1, "at": "1 s", "action": "resume"}]}})"},
        Case{"TopologyThatIsNotThere", R"({"base": {"topology": "no-such.json"}})"},
        Case{"RangeThatGoesDown", R"({"base": {}, "sweep": {"workers": {"from": 2, "to": 1, "step": 1}}})"},
        Case{"ValueListedTwice", R"({"base": {}, "sweep": {"workers": [2, 2]}})"},
        Case{"PairAmongTriples", R"({"base": {}, "sweep": {"workers, seed": [[2, 3, 4]]}})"},
        Case{"ExclusionOfAnUnknownAxis", R"({"base": {}, "exclude": [{"workers": 2}]})"}),
    name_of_case);

// The reader's refusal of an unknown key ends with a list of all known keys.
TEST(ExperimentSchema, KnowsTheReadersMembers) {
  const std::string message = refusal(R"({"base": {}, "qqqqqqqqqqq": 1})");
  const Json& members = schema_text().at("properties");
  for (const auto& [key, unused] : members.items()) {
    EXPECT_THAT(message.substr(message.find("known: ")), testing::HasSubstr(key));
  }
  EXPECT_EQ(std::ranges::count(message, ','), static_cast<std::ptrdiff_t>(members.size()) - 1);
}

}  // namespace
}  // namespace thinpipe
