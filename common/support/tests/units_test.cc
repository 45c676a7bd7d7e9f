// SPDX-License-Identifier: Apache-2.0
#include "common/support/units.hh"

#include <map>
#include <regex>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

std::string failure(Quantity quantity, std::string_view text) {
  try {
    parse_quantity(quantity, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Units, ParsesIntoBaseUnits) {
  EXPECT_DOUBLE_EQ(parse_quantity(Quantity::rate, "100 Mbit/s"), 1e8);
  EXPECT_DOUBLE_EQ(parse_quantity(Quantity::rate, "2.5Gbit/s"), 2.5e9);
  EXPECT_DOUBLE_EQ(parse_quantity(Quantity::duration, "20 ms"), 0.02);
  EXPECT_DOUBLE_EQ(parse_quantity(Quantity::duration, "2 min"), 120);
  EXPECT_DOUBLE_EQ(parse_quantity(Quantity::size, "25 MiB"), 25.0 * 1024 * 1024);
}

TEST(Units, WholeNumbersOfTheBaseUnitAreExact) {
  const std::vector<std::pair<Quantity, std::map<std::string, std::int64_t>>> factors = {
      {Quantity::size, {{"kB", 1000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}}},
      {Quantity::rate, {{"kbit/s", 1000}, {"Mbit/s", 1'000'000}, {"Gbit/s", 1'000'000'000}}},
      {Quantity::duration, {{"min", 60}, {"h", 3600}}}};
  for (const auto& [quantity, units] : factors) {
    for (const auto& [unit, factor] : units) {
      for (std::int64_t hundredths = 1; hundredths < 10'000; ++hundredths) {
        if (hundredths * factor % 100 != 0) continue;
        const std::string text = fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, unit);
        EXPECT_EQ(parse_quantity(quantity, text), static_cast<double>(hundredths * factor / 100)) << text;
      }
    }
  }
}

TEST(Units, OtherNumbersAreNotRounded) {
  EXPECT_EQ(parse_quantity(Quantity::size, "8.2000005 MB"), 8'200'000.5);
  EXPECT_EQ(parse_quantity(Quantity::size, "0.999999999999 bytes"), 0.999999999999);
  EXPECT_EQ(parse_quantity(Quantity::size, "1e-300 bytes"), 1e-300);
  EXPECT_NE(parse_quantity(Quantity::size, "8.20000000000001 MB"), 8'200'000);
}

TEST(Units, ErrorsStateTheRuleAndTheNearestUnit) {
  EXPECT_EQ(failure(Quantity::rate, "100 Mbits"),
            "unknown unit \"Mbits\"; did you mean \"Mbit/s\"? known: bit/s, kbit/s, Mbit/s, Gbit/s");
  EXPECT_EQ(failure(Quantity::rate, "100"), "\"100\" has no unit; write it like \"100 Mbit/s\"");
  EXPECT_EQ(failure(Quantity::duration, "soon"),
            "\"soon\" does not begin with a number; write it like \"20 ms\"");
  EXPECT_EQ(failure(Quantity::duration, "1e308 h"), "\"1e308 h\" is too large");
  EXPECT_THAT(failure(Quantity::size, "inf bytes"), testing::HasSubstr("does not begin with a number"));
}

TEST(Units, PatternsMatchWhatIsAcceptedAndInRange) {
  const std::vector<std::string> spellings = {
      "1 Mbit/s", "1Mbit/s", "1.5   kbit/s", "5. bit/s", ".5 bit/s", "1e6 bit/s", "1E+6 bit/s", "2e-3 Gbit/s",
      "0.02 s",   "20 ms",   "1 h",          "3 min",    "1 MiB",    "7 bytes",   "0 bytes",    "0.000 s",
      "0e5 s",    "0.0e1 s", "-1 s",         "-0 s",     "100",      "Mbit/s",    "1 Mbit",     "1 mbit/s",
      "+1 s",     " 1 s",    "1 s ",         "1e s",     ". s",      "inf s",     "nan bytes",  "0x10 s",
      "",         "1,5 s",   "1 kbit/s\n",   "--1 s",    "1.2.3 s",  "1 us1 us"};
  for (const Quantity quantity : {Quantity::rate, Quantity::duration, Quantity::size}) {
    for (const Range range : {Range::any, Range::not_negative, Range::positive}) {
      const std::regex pattern(quantity_pattern(quantity, range));
      for (const std::string& spelling : spellings) {
        bool accepted = failure(quantity, spelling) == "accepted";
        // "-0" equals 0, but nobody writes it on purpose.
        if (accepted && range != Range::any) accepted = !spelling.starts_with('-');
        if (accepted && range == Range::positive) accepted = parse_quantity(quantity, spelling) > 0;
        EXPECT_EQ(std::regex_search(spelling, pattern), accepted)
            << '"' << spelling << "\", " << base_unit(quantity);
      }
    }
  }
}

TEST(Units, FormatsWithTheUnitThatReadsBest) {
  EXPECT_EQ(format_quantity(Quantity::rate, 1e8), "100 Mbit/s");
  EXPECT_EQ(format_quantity(Quantity::rate, 1.5e9), "1.5 Gbit/s");
  EXPECT_EQ(format_quantity(Quantity::duration, 0.02), "20 ms");
  EXPECT_EQ(format_quantity(Quantity::size, 25.0 * 1024 * 1024), "25 MiB");
  EXPECT_EQ(format_quantity(Quantity::size, 0), "0 bytes");
}

TEST(Units, WhatIsFormattedParsesBack) {
  for (const double value : {1.0, 999.0, 1024.0, 65536.0, 123456789.0}) {
    EXPECT_DOUBLE_EQ(parse_quantity(Quantity::size, format_quantity(Quantity::size, value)), value);
  }
}

// A letter in the wrong case can change a unit by a factor of a million, so only units with the same first
// letter are suggested.
TEST(ParseQuantity, SuggestsAUnitOfTheSameSize) {
  const auto message = [](Quantity quantity, const std::string& text) -> std::string {
    try {
      parse_quantity(quantity, text);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto suggested = [&](Quantity quantity, const std::string& unit) -> std::string {
    const std::string text = message(quantity, "1 " + unit);
    const std::string before = "did you mean \"";
    const std::size_t begin = text.find(before);
    if (begin == std::string::npos) return "";
    const std::size_t name = begin + before.size();
    return text.substr(name, text.find('"', name) - name);
  };
  EXPECT_EQ(suggested(Quantity::rate, "mbit/s"), "Mbit/s");
  EXPECT_EQ(suggested(Quantity::rate, "gbit/s"), "Gbit/s");
  EXPECT_EQ(suggested(Quantity::rate, "MBIT/S"), "Mbit/s");
  EXPECT_EQ(suggested(Quantity::rate, "Kbit/s"), "kbit/s");
  EXPECT_EQ(suggested(Quantity::rate, "bits/s"), "bit/s");
  EXPECT_EQ(suggested(Quantity::rate, "Mbits"), "Mbit/s");
  EXPECT_EQ(suggested(Quantity::rate, "Tbit/s"), "");
  EXPECT_EQ(suggested(Quantity::size, "kb"), "kB");
  EXPECT_EQ(suggested(Quantity::size, "mib"), "MiB");
  EXPECT_EQ(suggested(Quantity::size, "TB"), "");
  EXPECT_EQ(suggested(Quantity::duration, "m"), "");  // could be ms or min
  EXPECT_EQ(suggested(Quantity::duration, "MS"), "ms");
  EXPECT_EQ(suggested(Quantity::duration, "ns"), "");
}

}  // namespace
}  // namespace thinpipe
