// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ThrowsMessage;

struct Inner {
  std::int64_t count = 3;

  void visit(auto& field) { field("count", count, Rule{.effect = "how many", .at_least = 1}); }
};

struct Outer {
  double ratio = 0.5;
  double rate_bit_per_s = 1e8;
  std::string kind = "fast";
  std::optional<double> limit;
  std::vector<double> targets = {0.8};
  bool eager = true;
  Inner inner;

  void visit(auto& field) {
    field("ratio", ratio, Rule{.effect = "kept fraction", .above = 0, .at_most = 1});
    field("rate", rate_bit_per_s, Rule{.effect = "cap", .quantity = Quantity::rate, .above = 0});
    field("kind", kind, Rule{.effect = "which", .one_of = {"fast", "slow"}});
    field("limit", limit, Rule{.effect = "none when null"});
    field("targets", targets, Rule{.effect = "accuracies"});
    field("eager", eager, Rule{.effect = "at once"});
    field("inner", inner, Rule{.effect = "a part"});
  }
};

const Place place{"file.json", "/base"};

std::string failure(const Json& value) {
  try {
    read_options<Outer>(value, place);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, AbsentFieldsKeepTheirDefaults) {
  const auto options = read_options<Outer>(Json::object(), place);
  EXPECT_EQ(options.ratio, 0.5);
  EXPECT_EQ(options.rate_bit_per_s, 1e8);
  EXPECT_EQ(options.limit, std::nullopt);
}

TEST(Options, WhatIsWrittenReadsBackTheSame) {
  const Json given = {{"ratio", 0.25},         {"rate", "1 Gbit/s"}, {"kind", "slow"},         {"limit", 2.0},
                      {"targets", {0.1, 0.2}}, {"eager", false},     {"inner", {{"count", 7}}}};
  EXPECT_EQ(write_options(read_options<Outer>(given, place)), given);
}

TEST(Options, ErrorsNamePlaceRuleAndNearestName) {
  EXPECT_EQ(
      failure({{"ratoi", 0.1}}),
      "file.json at /base/ratoi: unknown key \"ratoi\"; did you mean \"ratio\"? known: ratio, rate, kind, "
      "limit, targets, eager, inner");
  EXPECT_EQ(failure({{"ratio", 1.5}}), "file.json at /base/ratio: must be above 0 and at most 1, but is 1.5");
  EXPECT_EQ(failure({{"kind", "fsat"}}),
            "file.json at /base/kind: unknown name \"fsat\"; did you mean \"fast\"? known: fast, slow");
  EXPECT_THAT(failure({{"rate", "100 Mb"}}), testing::HasSubstr("unknown unit \"Mb\""));
  EXPECT_THAT(failure({{"rate", 100}}), testing::HasSubstr("a string with a unit"));
  EXPECT_THAT(failure({{"inner", {{"count", 0}}}}),
              testing::HasSubstr("/base/inner/count: must be at least 1"));
  EXPECT_THAT(failure({{"inner", {{"coutn", 1}}}}), testing::HasSubstr("did you mean \"count\"?"));
  EXPECT_THAT(failure({{"targets", {0.5, "x"}}}), testing::HasSubstr("/base/targets/1: must be a number"));
}

TEST(Options, DescriptionCarriesDefaultUnitAndRule) {
  const Json described = describe_options<Outer>();
  EXPECT_EQ(described[0], Json({{"key", "ratio"},
                                {"effect", "kept fraction"},
                                {"type", "number"},
                                {"required", false},
                                {"default", 0.5},
                                {"above", 0.0},
                                {"at_most", 1.0}}));
  EXPECT_EQ(described[1]["unit"], "bit/s");
  EXPECT_EQ(described[1]["default"], "100 Mbit/s");
  EXPECT_EQ(described[1]["pattern"], quantity_pattern(Quantity::rate, Range::positive));
  EXPECT_EQ(described[6]["options"][0]["key"], "count");
}

struct Route {
  std::vector<double> delays_s = {0.02, 1};
  std::vector<Inner> stops = {{}, {.count = 4}};

  void visit(auto& field) {
    field("delays", delays_s, Rule{.quantity = Quantity::duration});
    field("stops", stops, Rule{});
  }
};

TEST(Options, ElementsOfListsAreWrittenAsTheyAreRead) {
  EXPECT_EQ(write_options(Route{}),
            Json({{"delays", {"20 ms", "1 s"}}, {"stops", {{{"count", 3}}, {{"count", 4}}}}}));
  EXPECT_EQ(describe_options<Route>()[1]["options"], describe_options<Inner>());
}

struct Piece {
  std::optional<std::int64_t> size_bytes = 1 << 20;

  void visit(auto& field) {
    field("size", size_bytes, Rule{.quantity = Quantity::size, .at_least = 1, .none = "auto"});
  }
};

TEST(Options, AWordMayStandForNoValue) {
  const Json none = {{"size", "auto"}};
  EXPECT_EQ(read_options<Piece>(none, place).size_bytes, std::nullopt);
  EXPECT_EQ(write_options(read_options<Piece>(none, place)), none);
  EXPECT_EQ(read_options<Piece>({{"size", "2 MiB"}}, place).size_bytes, 2 << 20);
  const auto refusal = [](const Json& size) {
    try {
      read_options<Piece>({{"size", size}}, place);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("atuo"),
              testing::AllOf(testing::HasSubstr("/base/size"), testing::EndsWith("or \"auto\"")));
  EXPECT_THAT(refusal(nullptr), testing::EndsWith("or \"auto\""));
  const Json described = describe_options<Piece>()[0];
  EXPECT_FALSE(described.contains("nullable"));
  const std::regex pattern(described["pattern"].get<std::string>());
  EXPECT_TRUE(std::regex_search("auto", pattern));
  EXPECT_TRUE(std::regex_search("1 MiB", pattern));
  EXPECT_FALSE(std::regex_search("automatic", pattern));
}

struct Policy {
  static constexpr std::string_view shorthand = "action";

  std::string action = "fail";
  std::int64_t at_most = 3;

  void visit(auto& field) {
    field("action", action, Rule{.effect = "which", .one_of = {"fail", "restart"}});
    field("at_most", at_most, Rule{.at_least = 1});
  }
};

struct Plan {
  Policy policy;
  std::optional<Policy> second;
  std::vector<Policy> others;
  std::string topology = "pair";

  void visit(auto& field) {
    field("policy", policy, Rule{.effect = "first"});
    field("second", second, Rule{});
    field("others", others, Rule{});
    field("topology", topology, Rule{.file_names = {"pair", "star"}});
  }
};

TEST(Options, AStringMayStandForAnObjectWithOneField) {
  const auto plan = read_options<Plan>(
      {{"policy", "restart"}, {"others", {"fail", {{"at_most", 7}}}}, {"second", nullptr}}, place);
  EXPECT_EQ(plan.policy.action, "restart");
  EXPECT_EQ(plan.policy.at_most, 3);
  EXPECT_EQ(plan.others.at(1).at_most, 7);
  EXPECT_FALSE(plan.second);
  const auto refusal = [](const Json& policy) {
    try {
      read_options<Plan>({{"policy", policy}}, place);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("fial"),
            "file.json at /base/policy: unknown name \"fial\"; did you mean \"fail\"? known: fail, restart");
  EXPECT_EQ(refusal(3), "file.json at /base/policy: must be a string or an object, but is 3");
  EXPECT_THAT(refusal({{"at_most", 0}}), testing::HasSubstr("/base/policy/at_most: must be at least 1"));
}

TEST(Options, DescriptionHasEveryFormOfAValue) {
  const Json described = describe_options<Plan>();
  EXPECT_EQ(described[0], Json({{"key", "policy"},
                                {"effect", "first"},
                                {"required", false},
                                {"default", "fail"},
                                {"any_of",
                                 {{{"type", "string"}, {"one_of", {"fail", "restart"}}},
                                  {{"options", describe_options<Policy>()}}}}}));
  EXPECT_TRUE(described[1]["nullable"]);
  EXPECT_EQ(described[1]["any_of"], described[0]["any_of"]);
  EXPECT_TRUE(described[1]["default"].is_null());
  const Json& topology = described[3];
  EXPECT_EQ(topology["default"], "pair");
  EXPECT_EQ(topology["any_of"][0]["one_of"], Json({"pair", "star"}));
  const std::regex path(topology["any_of"][1]["pattern"].get<std::string>());
  EXPECT_TRUE(std::regex_search("../mine.json", path));
  EXPECT_FALSE(std::regex_search("../mine", path));
}

TEST(Options, DescriptionCarriesTheType) {
  std::map<std::string, std::string> types;
  for (const Json& field : describe_options<Outer>()) {
    types[field["key"]] = field.value("type", "object") + (field.value("list", false) ? " list" : "") +
                          (field.value("nullable", false) ? " or null" : "");
  }
  EXPECT_EQ(types, (std::map<std::string, std::string>{{"ratio", "number"},
                                                       {"rate", "string"},
                                                       {"kind", "string"},
                                                       {"limit", "number or null"},
                                                       {"targets", "number list"},
                                                       {"eager", "boolean"},
                                                       {"inner", "object"}}));
  EXPECT_EQ(describe_options<Inner>()[0]["type"], "integer");
}

struct WithStructs {
  Inner required;
  std::vector<Inner> list;
  std::optional<Inner> maybe;

  void visit(auto& field) {
    field("required", required, Rule{.required = true});
    field("list", list, Rule{});
    field("maybe", maybe, Rule{});
  }
};

TEST(Options, StructsMayBeRequiredOrInListsOrAbsent) {
  const Json full = {
      {"required", {{"count", 1}}}, {"list", {{{"count", 2}}, {{"count", 3}}}}, {"maybe", {{"count", 4}}}};
  EXPECT_EQ(write_options(read_options<WithStructs>(full, {"f", ""})), full);
  const auto least = read_options<WithStructs>({{"required", Json::object()}, {"maybe", nullptr}}, {"f", ""});
  EXPECT_EQ(least.required.count, 3);
  EXPECT_TRUE(least.list.empty());
  EXPECT_FALSE(least.maybe);
  EXPECT_THAT(
      [] {
        read_options<WithStructs>(Json::object(), {"f", ""});
      },
      ThrowsMessage<InputError>("f: \"required\" is missing"));
  EXPECT_THAT(
      [&] {
        read_options<WithStructs>({{"required", {{"count", 1}}}, {"list", {{{"count", 0}}}}}, {"f", ""});
      },
      ThrowsMessage<InputError>("f at /list/0/count: must be at least 1, but is 0"));
}

}  // namespace
}  // namespace thinpipe
