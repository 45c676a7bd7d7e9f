// Kinds of axes, "exclude" and "repeat": what a sweep expands to.
#include "harness/axis.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/experiment.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> labels(const std::string& text, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> out;
  for (const Point& point : expand(parse_experiment(text, "e.json", overrides))) out.push_back(point.label());
  return out;
}

std::vector<Point> points_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return expand(parse_experiment(text, "e.json", overrides));
}

std::string axis_failure(const std::string& text) {
  try {
    points_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RangeAxis, HasBothEndsAndRoundNumbers) {
  EXPECT_THAT(labels(R"({"base": {}, "sweep": {"p.ratio": {"from": 0.1, "to": 0.5, "step": 0.1}}})"),
              ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
  const auto points = points_of(R"({"base": {}, "sweep": {"w": {"from": 2, "to": 8, "step": 3}}})");
  ASSERT_EQ(points.size(), 3);
  EXPECT_EQ(points[1].config, Json({{"w", 5}}));
  EXPECT_TRUE(points[1].config["w"].is_number_integer());
  EXPECT_EQ(points[1].place_of("/w").pointer, "/sweep/w");
}

TEST(RangeAxis, ErrorsNamePlaceAndRule) {
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 1, "to": 0, "step": 1}}})"),
              HasSubstr("/sweep/w/to: must be at least \"from\", 1, but is 0"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1, "step": 0.3}}})"),
              HasSubstr("/sweep/w/step: must lead from 0 to 1 in a whole number of steps"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1e9, "step": 1}}})"),
              HasSubstr("fewer than 100000"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1, "step": 0}}})"),
              HasSubstr("/sweep/w/step"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1}}})"),
              HasSubstr("\"step\" is missing"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1, "step": 1, "stop": 2}}})"),
              HasSubstr("unknown key \"stop\""));
}

TEST(ZippedAxis, SetsPathsTogether) {
  const auto points =
      points_of(R"({"base": {"a": {"x": 1}}, "sweep": {"a.b, c": [[8, "one"], [16, "two"]]}})");
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].label(), "8 one");
  EXPECT_EQ(points[1].config, Json({{"a", {{"b", 16}, {"x", 1}}}, {"c", "two"}}));
  EXPECT_EQ(points[1].place_of("/c").pointer, "/sweep/a.b, c/1/1");
}

TEST(ZippedAxis, ErrorsNamePlaceAndRule) {
  EXPECT_THAT(
      axis_failure(R"({"base": {}, "sweep": {"a, b": [[1, 2], [3]]}})"),
      HasSubstr("/sweep/a, b/1: must be a list of 2 values, one for each path of \"a, b\", but is [3]"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"a, b": [[1, 2], [1, 2]]}})"),
              HasSubstr("1 2 is listed twice"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"a,": [[1, 2]]}})"), HasSubstr("is not a path"));
}

TEST(Exclude, LeavesPointsOutByTheirLabels) {
  const std::string sweep = R"("sweep": {"m": {"dense": {"x": 1}, "topk": {"x": 2}}, "rate": [1, 2, 3]})";
  EXPECT_THAT(
      labels(R"({"base": {}, )" + sweep + R"(, "exclude": [{"m": "dense", "rate": [1, 3]}, {"rate": 2}]})"),
      ElementsAre("topk, 1", "topk, 3"));
  EXPECT_THAT(axis_failure(R"({"base": {}, )" + sweep + R"(, "exclude": [{"rates": 1}]})"),
              HasSubstr("/exclude/0/rates: the sweep has no axis \"rates\"; did you mean \"rate\"?"));
  EXPECT_THAT(axis_failure(R"({"base": {}, )" + sweep + R"(, "exclude": [{"m": "topc"}]})"),
              HasSubstr("/exclude/0/m: the axis \"m\" has no value topc; did you mean \"topk\"?"));
  EXPECT_THAT(axis_failure(R"({"base": {}, )" + sweep + R"(, "exclude": [{}]})"),
              HasSubstr("/exclude/0: is empty"));
  EXPECT_THAT(axis_failure(R"({"base": {}, )" + sweep + R"(, "exclude": {"m": "topk"}})"),
              HasSubstr("/exclude: must be a list of objects"));
  EXPECT_THAT(axis_failure(R"({"base": {}, )" + sweep + R"(, "exclude": [{"m": ["dense", "topk"]}]})"),
              HasSubstr("/exclude: leaves out every run"));
}

TEST(Repeat, RunsEachPointWithSeedsFromTheBasesOn) {
  const std::string text = R"({"base": {"seed": 5}, "sweep": {"a": [1, 2]}, "repeat": 2})";
  EXPECT_THAT(labels(text), ElementsAre("1, seed 5", "1, seed 6", "2, seed 5", "2, seed 6"));
  EXPECT_EQ(points_of(text)[3].config, Json({{"a", 2}, {"seed", 6}}));
  EXPECT_THAT(labels(text, {"seed=9"}), ElementsAre("1, seed 9", "1, seed 10", "2, seed 9", "2, seed 10"));
  EXPECT_THAT(labels(R"({"base": {}, "repeat": 2})"), ElementsAre("seed 1", "seed 2"));
  EXPECT_THAT(labels(R"({"base": {}, "repeat": 1})"), ElementsAre("base"));
}

TEST(Repeat, ErrorsNamePlaceAndRule) {
  EXPECT_THAT(axis_failure(R"({"base": {}, "repeat": 0})"), HasSubstr("/repeat: must be at least 1"));
  EXPECT_THAT(axis_failure(R"({"base": {"seed": 9223372036854775807}, "repeat": 2})"),
              HasSubstr("/base/seed: must be at least 0 and at most"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "repeat": 1e9})"), HasSubstr("/repeat: must be"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"seed": [1, 2]}, "repeat": 2})"),
              HasSubstr("/repeat: sets the seed, and so does the axis \"seed\""));
}

}  // namespace
}  // namespace thinpipe
