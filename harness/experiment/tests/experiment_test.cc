// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/experiment.hh"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/experiment/merge.hh"
#include "harness/plan/run_id.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* file = "e/quick.json";

std::string failure(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    expand(parse_experiment(text, file, overrides));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

Json merged(Json target, const Json& patch) {
  merge(target, patch);
  return target;
}

TEST(Merge, FollowsRfc7396) {
  EXPECT_EQ(merged({{"a", 1}, {"b", {{"c", 2}, {"d", 3}}}}, {{"b", {{"c", 4}}}, {"e", 5}}),
            Json({{"a", 1}, {"b", {{"c", 4}, {"d", 3}}}, {"e", 5}}));
  EXPECT_EQ(merged({{"a", 1}, {"b", 2}}, {{"b", nullptr}}), Json({{"a", 1}}));
  EXPECT_EQ(merged({{"a", {1, 2}}}, {{"a", {3}}}), Json({{"a", {3}}}));
}

TEST(Merge, AnObjectOfAnotherNameReplaces) {
  const Json base = {{"s", {{"name", "topk"}, {"ratio", 0.1}}}};
  EXPECT_EQ(merged(base, {{"s", {{"name", "dense"}}}}), Json({{"s", {{"name", "dense"}}}}));
  EXPECT_EQ(merged(base, {{"s", {{"name", "topk"}, {"k", 1}}}}),
            Json({{"s", {{"name", "topk"}, {"ratio", 0.1}, {"k", 1}}}}));
}

TEST(Experiment, ExpandsInFileOrderWithLaterAxesFastest) {
  const auto points = expand(parse_experiment(
      R"({"base": {"x": {"y": 0}, "z": 1},
          "sweep": {"method": {"slow": {"z": 2}, "fast": {"z": 3}}, "x.y": [10, "a"]}})",
      file));
  ASSERT_EQ(points.size(), 4);
  EXPECT_THAT(points[0].labels, ElementsAre(Pair("method", "slow"), Pair("x.y", "10")));
  EXPECT_EQ(points[0].label(), "slow, 10");
  EXPECT_EQ(points[1].label(), "slow, a");
  EXPECT_EQ(points[2].label(), "fast, 10");
  EXPECT_EQ(points[1].config(), Json({{"x", {{"y", "a"}}}, {"z", 2}}));
}

TEST(Experiment, BaselinesOfTheHeatMapRunOnceACapAndOncePruned) {
  const auto points =
      expand(load_experiment(source_path("experiments/bandwidth-by-prune-ratio.json"), {}, {}));
  std::map<std::string, int> runs;
  std::set<std::string> distinct;
  for (const Point& point : points) {
    if (point.labels.back() == std::pair<std::string, std::string>("seed", "seed 1"))
      ++runs[point.labels.front().second];
    distinct.insert(point.config().dump());
  }
  EXPECT_EQ(runs, (std::map<std::string, int>{{"dense", 4},
                                              {"dense, pruned", 4},
                                              {"fp16", 4},
                                              {"fp16, pruned", 4},
                                              {"pactrain", 6 * 4},
                                              {"pactrain ternary", 6 * 4},
                                              {"powersgd 4", 2},
                                              {"powersgd 4, pruned", 2},
                                              {"topk 0.01", 2},
                                              {"topk 0.01, pruned", 2}}));
  EXPECT_EQ(distinct.size(), 5 * 72) << "with five seeds";
}

TEST(Experiment, NullsAndCommentsOfTheBaseAreNoPartOfARun) {
  const auto points = expand(parse_experiment(
      R"({"base": {"//": "c", "a": null, "b": {"$schema": "s", "// d": 1, "name": "n", "e": null, "f": 1}},
          "sweep": {"m": {"p": {"b": {"//": "c", "name": "n", "g": 2}}}}})",
      file));
  EXPECT_EQ(points.at(0).config(), Json({{"b", {{"name", "n"}, {"f", 1}, {"g", 2}}}}));
}

TEST(Experiment, WithoutASweepThereIsOneRun) {
  const Experiment experiment = parse_experiment(R"({"base": {"z": 1}})", file);
  EXPECT_EQ(experiment.name, "quick");
  const auto points = expand(experiment);
  ASSERT_EQ(points.size(), 1);
  EXPECT_EQ(points[0].label(), "base");
}

TEST(Experiment, OverridesAreJsonOrElseStrings) {
  const auto points = expand(parse_experiment(R"({"base": {"a": {"b": 1}}})", file,
                                              {"a.c=2.5", "rate=100 Mbit/s", "list=[1,2]", "on=true"}));
  EXPECT_EQ(points[0].config(),
            Json({{"a", {{"b", 1}, {"c", 2.5}}}, {"rate", "100 Mbit/s"}, {"list", {1, 2}}, {"on", true}}));
}

TEST(Experiment, PlacesLeadBackToWhereTheUserWrote) {
  const auto points = expand(parse_experiment(
      R"({"base": {"s": {"name": "topk", "ratio": 1}, "t": [1, 2], "u": 1},
          "sweep": {"method": {"a/b": {"s": {"ratio": 2}}}, "rate.cap": [5]}})",
      file, {"u=3"}));
  const Point& point = points.at(0);
  const auto where = [&point](const char* pointer) {
    const Place place = point.place_of(pointer);
    return place.file + " " + place.pointer;
  };
  EXPECT_EQ(where("/s/ratio"), "e/quick.json /sweep/method/a~1b/s/ratio");
  EXPECT_EQ(where("/s/name"), "e/quick.json /base/s/name");
  EXPECT_EQ(where("/t/1"), "e/quick.json /base/t/1");
  EXPECT_EQ(where("/rate/cap"), "e/quick.json /sweep/rate.cap/0");
  EXPECT_EQ(where("/u"), "--set u=3 ");
  EXPECT_EQ(where(""), "e/quick.json /base");
  EXPECT_EQ(where("/missing"), "e/quick.json /base/missing");
}

TEST(Experiment, MayNameWhatExecutesItsRuns) {
  EXPECT_EQ(parse_experiment(R"({"base": {}})", file).executor, ExecutorOptions{});
  const ExecutorOptions slurm{.name = "slurm", .partition = "cpu", .sbatch = {"--mem=8G"}};
  EXPECT_EQ(
      parse_experiment(
          R"({"base": {}, "executor": {"name": "slurm", "partition": "cpu", "sbatch": ["--mem=8G"]}})", file)
          .executor,
      slurm);
  EXPECT_THAT(failure(R"({"base": {}, "executor": {"partition": "cpu"}})"),
              testing::HasSubstr("at /executor: \"name\" is missing"));
  EXPECT_THAT(failure(R"({"base": {}, "executor": {"name": "slrm"}})"),
              testing::HasSubstr("at /executor/name: "));
}

TEST(Experiment, ErrorsNameFilePlaceAndRule) {
  EXPECT_EQ(
      failure(R"({"base": {}, "swep": {}})"),
      "e/quick.json at /swep: unknown key \"swep\"; did you mean \"sweep\"? known: name, description, base, "
      "sweep, repeat, exclude, executor");
  EXPECT_EQ(failure("{}"), "e/quick.json: \"base\" is missing");
  EXPECT_EQ(failure(R"({"base": [1]})"), "e/quick.json at /base: must be an object, but is [1]");
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"m": {}}})"), HasSubstr("/sweep/m: is empty"));
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"m": 3}})"), HasSubstr("/sweep/m: must be an object"));
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"m": {"x": 3}}})"),
              HasSubstr("/sweep/m/x: must be an object that patches"));
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"a..b": [3]}})"), HasSubstr("\"a..b\" is not a path"));
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"a": [3, 3]}})"),
              HasSubstr("/sweep/a/1: the value 3 is listed"));
  EXPECT_THAT(failure(R"({"base": {}, "name": "../x"})"),
              HasSubstr("/name: must be a folder name of letters"));
  EXPECT_THAT(failure(R"({"base": {"a": 1, "a": 2}})"), HasSubstr("\"a\" is given twice"));
  EXPECT_THAT(failure("{\n \"base\": }"), HasSubstr("line 2"));
}

TEST(Experiment, WrongOverridesAreErrors) {
  EXPECT_EQ(failure(R"({"base": {}})", {"workers"}), "--set workers: must be written path=value");
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"a.b": [1, 2]}})", {"a.b=3"}),
              HasSubstr("--set a.b=3: has no effect, because the sweep's axis \"a.b\" sets it in every run"));
  const char* const other_models =
      R"({"base": {"model": {"name": "mlp"}}, "sweep": {"model": {"a": {"model": {"name": "cnn"}}}}})";
  EXPECT_THAT(failure(other_models, {"model.width=3"}),
              HasSubstr("--set model.width=3: has no effect, because the sweep's axis \"model\""));
}

TEST(Experiment, OverridesMayChangeWhatAnAxisKeeps) {
  const char* const text = R"({"base": {"model": {"name": "mlp"}},
      "sweep": {"model": {"a": {"model": {"name": "mlp", "depth": 2}}, "b": {"model": {"name": "cnn"}}}}})";
  const Experiment experiment = parse_experiment(text, "e.json", {"model.width=3"});
  const std::vector<Point> points = expand(experiment);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].config().at("model"), Json({{"name", "mlp"}, {"depth", 2}, {"width", 3}}));
  EXPECT_EQ(points[1].config().at("model"), Json({{"name", "cnn"}}));
}

TEST(Experiment, AnEnormousSweepIsRefusedBeforeItIsExpanded) {
  std::string values = "0";
  for (int i = 1; i < 100; ++i) values += "," + std::to_string(i);
  const std::string sweep = fmt::format(R"({{"a": [{0}], "b": [{0}], "c": [{0}]}})", values);
  EXPECT_THAT(failure(fmt::format(R"({{"base": {{}}, "sweep": {}}})", sweep)),
              HasSubstr("/sweep: has 1000000 runs, more than the limit of 100000"));
}

TEST(RunId, DependsOnValuesAloneAndNotOnTheOrderOfKeys) {
  const Json one = Json::parse(R"({"a": 1, "b": {"c": 2, "d": 3}})");
  const Json same = Json::parse(R"({"b": {"d": 3, "c": 2}, "a": 1})");
  const Json other = Json::parse(R"({"a": 1, "b": {"c": 2, "d": 4}})");
  EXPECT_EQ(run_id(one), run_id(same));
  EXPECT_NE(run_id(one), run_id(other));
  EXPECT_EQ(run_id(one).size(), 16);
}

TEST(RunId, IgnoresWhatATopologyIsCalled) {
  const Json one = {{"topology", {{"name", "a"}, {"description", "x"}, {"hosts", {"w0"}}}}};
  const Json same = {{"topology", {{"name", "b"}, {"description", "y"}, {"hosts", {"w0"}}}}};
  const Json other = {{"topology", {{"name", "a"}, {"description", "x"}, {"hosts", {"w1"}}}}};
  EXPECT_EQ(run_id(one), run_id(same));
  EXPECT_NE(run_id(one), run_id(other));
}

TEST(RunId, GoesByWhatPathsLeadToAndNotByThePaths) {
  const Json config = {{"dataset", {{"name", "d"}, {"directory", "/a"}}}, {"weights", {{"file", "w"}}}};
  const Json elsewhere = {{"dataset", {{"name", "d"}, {"directory", "/b"}}}, {"weights", {{"file", "v"}}}};
  const Json content = {{"/dataset/directory", "0123456789abcdef"}, {"/weights/file", "fedcba9876543210"}};
  Json changed = content;
  EXPECT_EQ(run_id(config, content), run_id(elsewhere, content));
  for (const char* const path : {"/dataset/directory", "/weights/file"}) {
    changed = content;
    changed[path] = "0000000000000000";
    EXPECT_NE(run_id(config, changed), run_id(config, content)) << path;
  }
}

TEST(ContentHash, IsXxh3) {
  EXPECT_EQ(content_hash(""), "2d06800538d394c2");  // the published hash of the empty input with seed 0
}

}  // namespace
}  // namespace thinpipe
