// SPDX-License-Identifier: Apache-2.0
#include "common/support/json_object.hh"

#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string failure(const auto& attempt) {
  try {
    attempt();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(JsonObject, ReadsWhatIsThereAndKeepsDefaults) {
  const Json value = {{"count", 4}};
  JsonObject object(value, {"f.json", ""});
  std::int64_t count = 1;
  std::string kind = "default";
  object.read("count", count);
  object.read("kind", kind);
  object.finish();
  EXPECT_EQ(count, 4);
  EXPECT_EQ(kind, "default");
}

TEST(JsonObject, RefusesWhatNobodyAskedFor) {
  const Json value = {{"kimd", 4}};
  JsonObject object(value, {"f.json", "/base"});
  object.find("kind");
  EXPECT_EQ(failure([&] { object.finish(); }),
            "f.json at /base/kimd: unknown key \"kimd\"; did you mean \"kind\"? known: kind");
}

TEST(JsonObject, CommentsAndSchemaNamesAreAllowed) {
  const Json value = {{"// why", "because"}, {"$schema", "experiment.schema.json"}};
  EXPECT_EQ(failure([&] { JsonObject(value, {"f.json", ""}).finish(); }), "accepted");
}

TEST(JsonObject, MissingMembersAndWrongTypesNameThePlace) {
  const Json value = {{"ratio", "half"}};
  JsonObject object(value, {"f.json", "/base"});
  double ratio = 0;
  EXPECT_EQ(failure([&] { object.read("name", ratio, {.required = true}); }),
            "f.json at /base: \"name\" is missing");
  EXPECT_EQ(failure([&] { object.read("ratio", ratio); }),
            "f.json at /base/ratio: must be a number, but is \"half\"");
  EXPECT_EQ(failure([&] {
              JsonObject(value["ratio"], {"f.json", "/x"});
            }),
            "f.json at /x: must be an object, but is \"half\"");
}

TEST(JsonObject, AMissingMemberMayBeMisspelt) {
  const Json value = {{"name", "topk"}, {"ratoi", 0.1}};
  JsonObject object(value, {"f.json", "/base"});
  std::string name;
  double ratio = 0;
  object.read("name", name);
  EXPECT_EQ(failure([&] { object.read("ratio", ratio, {.required = true}); }),
            "f.json at /base: \"ratio\" is missing; did you misspell it \"ratoi\"?");
  EXPECT_EQ(failure([&] { object.read("nam", ratio, {.required = true}); }),
            "f.json at /base: \"nam\" is missing");
}

TEST(ReadValue, WholeNumbersOfAQuantity) {
  std::int64_t bytes = 0;
  for (const auto& [text, expected] : std::map<std::string, std::int64_t>{
           {"8.2 MB", 8'200'000}, {"4.1 MB", 4'100'000}, {"8.3 MB", 8'300'000}, {"4.1 GB", 4'100'000'000}}) {
    read_value(Json(text), {"f", ""}, {.quantity = Quantity::size, .at_most = static_cast<double>(expected)},
               bytes);
    EXPECT_EQ(bytes, expected) << text;
  }
  read_value(Json("1.5 KiB"), {"f", ""}, {.quantity = Quantity::size}, bytes);
  EXPECT_EQ(bytes, 1536);
  EXPECT_THAT(failure([&] {
                read_value(Json("0.3 bytes"), {"f", ""}, {.quantity = Quantity::size}, bytes);
              }),
              HasSubstr("whole number of bytes"));
  EXPECT_THAT(failure([&] {
                read_value(Json("1e20 bytes"), {"f", ""}, {.quantity = Quantity::size}, bytes);
              }),
              HasSubstr("whole number of bytes"));
}

// Integers are read exactly, and errors name the bound that is violated.
TEST(ReadValue, WholeNumbersOf64Bits) {
  const auto read = [](const std::string& text, const Rule& rule = {}) {
    std::int64_t out = 0;
    read_value(Json::parse(text), {"f", ""}, rule, out);
    return out;
  };
  EXPECT_EQ(read("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(read("9007199254740993"), 9007199254740993);
  for (const char* text :
       {"9223372036854775808", "13907105438962217000", "18446744073709551615", "1e19", "1e300"}) {
    EXPECT_THAT(failure([&] { read(text, {.at_least = 0}); }),
                HasSubstr("must be a whole number from -9223372036854775808 to 9223372036854775807"))
        << text;
  }
  // Converted to doubles, both would be 2^53.
  EXPECT_EQ(failure([&] { read("9007199254740993", {.at_most = 9007199254740992}); }),
            "f: must be at most 9007199254740992, but is 9007199254740993");
}

TEST(ReadValue, WholeNumbersMayBeWrittenAsSchemasTakeThem) {
  const auto read = [](const std::string& text) {
    std::int64_t out = 0;
    read_value(Json::parse(text), {"f", ""}, {}, out);
    return out;
  };
  EXPECT_EQ(read("2.0"), 2);
  EXPECT_EQ(read("2e0"), 2);
  EXPECT_EQ(read("-1e3"), -1000);
  EXPECT_EQ(failure([&] { read("2.5"); }), "f: must be a whole number, but is 2.5");
  EXPECT_EQ(failure([&] { read("\"2\""); }), "f: must be a whole number, but is \"2\"");
  EXPECT_THAT(failure([&] { read("9007199254740993.0"); }), HasSubstr("without a point or an exponent"));
}

TEST(ParseJson, OtherEncodingsAreNamed) {
  EXPECT_EQ(failure([] { parse_json("\xef\xbb\xbf{}", "f.json"); }), "accepted");
  EXPECT_THAT(failure([] { parse_json(std::string("\xff\xfe{\0}\0", 6), "f.json"); }), HasSubstr("UTF-16"));
}

TEST(ParseJson, SyntaxErrorsNameLineAndColumn) {
  EXPECT_THAT(failure([] { parse_json("{\n  \"a\": ,\n}", "f.json"); }),
              HasSubstr("f.json: not valid JSON at line 2, column "));
  EXPECT_EQ(
      failure([] { parse_json("{\"a\": 1,\n}", "f.json"); }),
      "f.json: not valid JSON at line 2, column 1: syntax error while parsing object key - unexpected '}'; "
      "expected string literal; remove the comma before it");
  EXPECT_THAT(failure([] { parse_json("[1 2]", "f.json"); }), Not(HasSubstr("comma before")));
}

TEST(ParseJson, AMissingFileIsNamedOnce) {
  EXPECT_EQ(failure([] { parse_json_file("/nowhere/f.json"); }), "/nowhere/f.json: does not exist");
}

TEST(ParseJson, NestingAndNumbersWithoutBoundAreErrors) {
  EXPECT_EQ(failure([] { parse_json(std::string(1'000'000, '['), "f.json"); }),
            "f.json: is nested more than 100 deep");
  EXPECT_EQ(failure([] { parse_json(std::string(100, '[') + std::string(100, ']'), "f.json"); }), "accepted");
  EXPECT_THAT(failure([] { parse_json(R"({"a": 1e999})", "f.json"); }),
              HasSubstr("f.json: has a number that is out of range"));
}

TEST(ParseJson, AMessageIsShortWhateverTheTextIs) {
  EXPECT_LT(failure([] { parse_json("\"" + std::string(1'000'000, 'x'), "f.json"); }).size(), 500);
}

TEST(ParseJson, AKeyGivenTwiceIsAnError) {
  EXPECT_EQ(failure([] { parse_json(R"({"a": {"b": 1, "c": 2, "b": 3}})", "f.json"); }),
            "f.json: the key \"b\" is given twice in one object");
  EXPECT_EQ(failure([] { parse_json(R"({"a": {"b": 1}, "c": [{"b": 1}, {"b": 3}]})", "f.json"); }),
            "accepted");
}

}  // namespace
}  // namespace thinpipe
