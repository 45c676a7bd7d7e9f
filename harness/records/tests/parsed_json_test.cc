// SPDX-License-Identifier: Apache-2.0
#include "harness/records/parsed_json.hh"

#include <string>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

std::string nested(int depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParsedJson, BecomesWhatJsonReads) {
  JsonParser parser;
  for (const char* text :
       {R"({"a": [1, -2, 0, 2.5, 1e300, true, false, null, "t\u00e9\n"], "b": {"c": {}, "d": []}})",
        "18446744073709551615", "-9223372036854775808", "-0.0", R"("")", "[[[]]]",
        R"({"twice": 1, "other": 2, "twice": {"last": 3}})"}) {
    const auto parsed = parser.parse(text);
    ASSERT_TRUE(parsed) << text;
    const Json expected = Json::parse(text);
    EXPECT_EQ(parsed->to_json(), expected) << text;
    EXPECT_EQ(parsed->to_json().dump(), expected.dump());
    EXPECT_EQ(parsed->to_json().type(), expected.type()) << text;
  }
}

TEST(ParsedJson, OfSeveralMembersWithOneNameTheLastCounts) {
  JsonParser parser;
  const auto parsed = parser.parse(R"({"a": 1, "b": 2, "a": 3})");
  EXPECT_EQ(parsed->find("a")->get<double>(), 3);
  EXPECT_EQ(parsed->find("b")->get<double>(), 2);
  EXPECT_FALSE(parsed->find("c"));
}

TEST(ParsedJson, WhatItDoesNotReadIsLeftToJson) {
  JsonParser parser;
  for (const std::string text : {"", "{", "{\"a\": NaN}", "nul", "[1,]", "\"\xff\"", "18446744073709551616"})
    EXPECT_FALSE(parser.parse(text)) << text;
  EXPECT_TRUE(parser.parse(nested(max_json_depth - 1)));
  EXPECT_FALSE(parser.parse(nested(max_json_depth + 1)));
}

TEST(ParsedJson, AParserIsUsableAfterARefusal) {
  JsonParser parser;
  EXPECT_FALSE(parser.parse(nested(2000)));
  EXPECT_FALSE(parser.parse("{"));
  const std::string large = "\"" + std::string(1 << 20, 'x') + "\"";  // more than it holds at first
  EXPECT_EQ(parser.parse(large)->get<std::string>().size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace thinpipe
