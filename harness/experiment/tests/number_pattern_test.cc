// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/number_pattern.hh"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

std::optional<double> find(const std::string& pattern, std::string_view line) {
  return NumberPattern(pattern, {"e.json", "/curve/iteration"}).find(line);
}

std::string refusal_of_pattern(const std::string& pattern) {
  try {
    find(pattern, "");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(NumberPattern, FindsTheFirstMatch) {
  EXPECT_THAT(find("step ([0-9]+)", "epoch 1, step 20, step 30"), Optional(20));
  EXPECT_THAT(find("loss[:=] *(\\S+)", "loss: -1.5e-3 (best)"), Optional(-0.0015));
  EXPECT_THAT(find("(?:a|b) (.*)", "b +2"), Optional(2));
  EXPECT_EQ(find("step ([0-9]+)", "no such line"), std::nullopt);
  EXPECT_EQ(find("a|b ([0-9])", "a"), std::nullopt) << "the group took no part";
}

TEST(NumberPattern, KnowsNumbersThatAreNotFinite) {
  EXPECT_TRUE(std::isnan(find("loss (\\S+)", "loss nan").value()));
  EXPECT_TRUE(std::isinf(find("loss (\\S+)", "loss inf").value()));
}

TEST(NumberPattern, DividesPercentages) {
  EXPECT_THAT(find("acc ([0-9.]+)", "acc 93.5%"), Optional(0.935));
  EXPECT_THAT(find("acc ([0-9.]+)", "acc 93.5 % of 10"), Optional(0.935));
  EXPECT_THAT(find("acc ([0-9.]+)", "acc 0.935 (100 %)"), Optional(0.935));
}

TEST(NumberPattern, RefusesWhatIsNoNumber) {
  EXPECT_THROW(find("acc (\\S+)", "acc high"), Error);
  EXPECT_THROW(find("acc (\\S*)", "acc "), Error);
}

TEST(NumberPattern, SearchesOnlyTheBeginningOfALongLine) {
  const std::string flood(1 << 20, 'x');
  EXPECT_EQ(find("(?:x|y)*([0-9]+)", flood + "7"), std::nullopt);
  EXPECT_THAT(find("x ([0-9]+)", "x 7 " + flood), Optional(7));
}

TEST(NumberPattern, IsARegularExpressionWithOneGroup) {
  EXPECT_THAT(refusal_of_pattern("step ([0-9+"),
              AllOf(HasSubstr("e.json at /curve/iteration"), HasSubstr("is not a regular expression")));
  EXPECT_THAT(refusal_of_pattern("step [0-9]+"), HasSubstr("has 0 groups, but must have one"));
  EXPECT_THAT(refusal_of_pattern("(step) ([0-9]+)"), HasSubstr("has 2 groups, but must have one"));
  EXPECT_EQ(refusal_of_pattern("(?:step) ([0-9]+)"), "accepted");
}

}  // namespace
}  // namespace thinpipe
