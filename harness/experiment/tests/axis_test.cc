// SPDX-License-Identifier: Apache-2.0
// The expansion of a sweep: kinds of axes, "exclude" and "repeat".
#include "harness/experiment/axis.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/experiment/experiment.hh"

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
  EXPECT_EQ(points[1].config(), Json({{"w", 5}}));
  EXPECT_TRUE(points[1].config()["w"].is_number_integer());
  EXPECT_EQ(points[1].place_of("/w").pointer, "/sweep/w");
}

// As doubles, neighbouring integers beyond 2^53 would be equal.
TEST(RangeAxis, OfWholeNumbersIsExact) {
  EXPECT_THAT(
      labels(
          R"({"base": {}, "sweep": {"seed": {"from": 9007199254740993, "to": 9007199254740995, "step": 1}}})"),
      ElementsAre("9007199254740993", "9007199254740994", "9007199254740995"));
  EXPECT_THAT(labels(R"({"base": {}, "sweep": {"a": {"from": -9223372036854775807, "to": 9223372036854775807,
                                                     "step": 9223372036854775807}}})"),
              ElementsAre("-9223372036854775807", "0", "9223372036854775807"));
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
              HasSubstr("/sweep/w: must have either \"step\" or \"factor\", but has neither"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 1, "to": 8, "step": 1, "factor": 2}}})"),
              HasSubstr("/sweep/w: must have either \"step\" or \"factor\", but has both"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"w": {"from": 0, "to": 1, "step": 1, "stop": 2}}})"),
              HasSubstr("unknown key \"stop\""));
}

std::vector<std::string> range(const std::string& from, const std::string& to, const std::string& by) {
  return labels(R"({"base": {}, "sweep": {"w": {"from": )" + from + R"(, "to": )" + to + ", " + by + "}}}");
}

std::string range_failure(const std::string& from, const std::string& to, const std::string& by) {
  return axis_failure(R"({"base": {}, "sweep": {"w": {"from": )" + from + R"(, "to": )" + to + ", " + by +
                      "}}}");
}

TEST(RangeAxis, CountsQuantitiesWithUnits) {
  EXPECT_THAT(range(R"("100 Mbit/s")", R"("1 Gbit/s")", R"("step": "300 Mbit/s")"),
              ElementsAre("100 Mbit/s", "400 Mbit/s", "700 Mbit/s", "1 Gbit/s"));
  EXPECT_THAT(range(R"("0 s")", R"("30 ms")", R"("step": "10 ms")"),
              ElementsAre("0 s", "10 ms", "20 ms", "30 ms"));
  EXPECT_THAT(range(R"("1 MiB")", R"("2 MiB")", R"("step": "512 KiB")"),
              ElementsAre("1 MiB", "1.5 MiB", "2 MiB"));
  EXPECT_THAT(range(R"("1 bytes")", R"("9007199254740991 bytes")", R"("factor": 9007199254740991)").back(),
              "9007199254740991 bytes")
      << "exact to the byte";
  EXPECT_EQ(
      points_of(
          R"({"base": {}, "sweep": {"b.rate": {"from": "1 Mbit/s", "to": "1 Mbit/s", "step": "1 bit/s"}}})")
          .front()
          .config(),
      Json({{"b", {{"rate", "1 Mbit/s"}}}}));
}

TEST(RangeAxis, MultipliesByAFactor) {
  EXPECT_THAT(range(R"("100 Mbit/s")", R"("1.6 Gbit/s")", R"("factor": 2)"),
              ElementsAre("100 Mbit/s", "200 Mbit/s", "400 Mbit/s", "800 Mbit/s", "1.6 Gbit/s"));
  EXPECT_THAT(range("1", "81", R"("factor": 3)"), ElementsAre("1", "3", "9", "27", "81"));
  EXPECT_THAT(range("0.001", "1", R"("factor": 10)"), ElementsAre("0.001", "0.01", "0.1", "1.0"));
  EXPECT_THAT(range("8", "18", R"("factor": 1.5)"), ElementsAre("8.0", "12.0", "18.0"));
}

TEST(RangeAxis, CountsIntegersExactlyOrRefusesThem) {
  EXPECT_THAT(range("9007199254740993", "9007199254740995", R"("step": 1)"),
              ElementsAre("9007199254740993", "9007199254740994", "9007199254740995"));
  EXPECT_THAT(range("-9223372036854775807", "9223372036854775807", R"("step": 9223372036854775807)"),
              ElementsAre("-9223372036854775807", "0", "9223372036854775807"));
  EXPECT_THAT(range("3", "9223372036854775806", R"("factor": 3074457345618258602)"),
              ElementsAre("3", "9223372036854775806"));
  EXPECT_THAT(range_failure("1", "13907105438962217000", R"("step": 1)"),
              HasSubstr("/sweep/w/to: must be at most 9223372036854775807, but is 13907105438962217000"));
  EXPECT_THAT(range_failure("9007199254740993", "9007199254740995", R"("step": 0.5)"),
              HasSubstr("/sweep/w/from: must be at most 2^53 unless all numbers of the range are whole"));
}

TEST(RangeAxis, ErrorsOfQuantitiesAndFactorsNamePlaceAndRule) {
  EXPECT_THAT(range_failure(R"("100 Mbit")", R"("1 Gbit/s")", R"("step": "1 Mbit/s")"),
              HasSubstr("/sweep/w/from: must be a number, alone or with a unit (bit/s, kbit/s"));
  EXPECT_THAT(range_failure(R"("100 Mbit/s")", R"("20 ms")", R"("step": "1 Mbit/s")"),
              HasSubstr("/sweep/w/to: unknown unit \"ms\""));
  EXPECT_THAT(range_failure(R"("100 Mbit/s")", R"("1 Gbit/s")", R"("step": 100)"),
              HasSubstr("/sweep/w/step: must be a string with a unit"));
  EXPECT_THAT(range_failure("100", R"("1 Gbit/s")", R"("step": 100)"),
              HasSubstr("/sweep/w/to: must be a number"));
  EXPECT_THAT(range_failure(R"("100 Mbit/s")", R"("1 Gbit/s")", R"("step": "0 bit/s")"),
              HasSubstr("/sweep/w/step: must be above 0 for the range to advance, but is 0 bit/s"));
  EXPECT_THAT(range_failure(R"("1 Gbit/s")", R"("100 Mbit/s")", R"("step": "1 Mbit/s")"),
              HasSubstr("/sweep/w/to: must be at least \"from\", 1 Gbit/s, but is 100 Mbit/s"));
  EXPECT_THAT(
      range_failure(R"("100 Mbit/s")", R"("1 Gbit/s")", R"("factor": 2)"),
      HasSubstr("/sweep/w/factor: must lead from 100 Mbit/s to 1 Gbit/s in a whole number of steps, fewer "
                "than 100000, but its last value before that is 800 Mbit/s"));
  for (const char* factor : {"1", "0.5", "-2"})
    EXPECT_THAT(range_failure("1", "8", std::string(R"("factor": )") + factor),
                HasSubstr("/sweep/w/factor: must be above 1 for the range to advance"))
        << factor;
  EXPECT_THAT(range_failure("0", "8", R"("factor": 2)"),
              HasSubstr("/sweep/w/from: must be above 0 for a \"factor\" to change it, but is 0"));
  EXPECT_THAT(range_failure("1", "8", R"("factor": 1.00000001)"), HasSubstr("fewer than 100000"));
  EXPECT_THAT(range_failure("0.5", "1e300", R"("step": 1e-300)"), HasSubstr("fewer than 100000"));
  EXPECT_THAT(range_failure(R"("1 bit/s")", R"("10 Gbit/s")", R"("step": "1 bit/s")"),
              HasSubstr("but makes more"));
}

TEST(ZippedAxis, SetsPathsTogether) {
  const auto points =
      points_of(R"({"base": {"a": {"x": 1}}, "sweep": {"a.b, c": [[8, "one"], [16, "two"]]}})");
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].label(), "8 one");
  EXPECT_EQ(points[1].config(), Json({{"a", {{"b", 16}, {"x", 1}}}, {"c", "two"}}));
  EXPECT_EQ(points[1].place_of("/c").pointer, "/sweep/a.b, c/1/1");
}

TEST(ZippedAxis, ErrorsNamePlaceAndRule) {
  EXPECT_THAT(
      axis_failure(R"({"base": {}, "sweep": {"a, b": [[1, 2], [3]]}})"),
      HasSubstr("/sweep/a, b/1: must be a list of 2 values, one for each path of \"a, b\", but is [3]"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"a, b": [[1, 2], [1, 2]]}})"),
              HasSubstr("1 2 is listed twice"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"a,": [[1, 2]]}})"), HasSubstr("is not a path"));
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"a , a": [[1, 2]]}})"),
              HasSubstr("names the path \"a\" twice"));
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
  EXPECT_EQ(points_of(text)[3].config(), Json({{"a", 2}, {"seed", 6}}));
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
  EXPECT_THAT(axis_failure(R"({"base": {}, "sweep": {"m": {"a": {}, "b": {"seed": 7}}}, "repeat": 2})"),
              HasSubstr("/repeat: sets the seed, and so does the axis \"m\""));
}

}  // namespace
}  // namespace thinpipe
