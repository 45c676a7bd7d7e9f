// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/placeholders.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::map<std::string, std::string> values = {{"lr", "0.1"}, {"method", "a {b}"}, {"empty", ""}};

std::string fill(std::string_view text) {
  return fill_placeholders(text, values, {"e.json", "/command/2"});
}

std::string refusal_of_text(std::string_view text) {
  try {
    fill(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Placeholders, AreReplacedByTheirValuesOnce) {
  EXPECT_EQ(fill("--lr={lr},{lr}"), "--lr=0.1,0.1");
  EXPECT_EQ(fill("{method}"), "a {b}") << "values are not searched";
  EXPECT_EQ(fill("<{empty}>"), "<>");
  EXPECT_EQ(fill(""), "");
}

TEST(Placeholders, BracesAreDoubled) {
  EXPECT_EQ(fill(R"({{"lr": {lr}}})"), R"({"lr": 0.1})");
  EXPECT_EQ(fill("{{lr}}"), "{lr}");
}

TEST(Placeholders, UnknownNamesAndLoneBracesAreRefused) {
  EXPECT_THAT(refusal_of_text("{lrr}"), AllOf(HasSubstr("e.json at /command/2: unknown placeholder {lrr}"),
                                              HasSubstr("did you mean \"lr\"?"), HasSubstr("{{ and }}")));
  EXPECT_THAT(refusal_of_text("{}"), HasSubstr("unknown placeholder {}"));
  EXPECT_THAT(refusal_of_text("a {lr"), HasSubstr("has a { without a partner; write {{"));
  EXPECT_THAT(refusal_of_text("a } b"), HasSubstr("has a } without a partner; write }}"));
}

}  // namespace
}  // namespace thinpipe
