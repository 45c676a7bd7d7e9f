// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/trace.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe::netem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(RateTrace (*parse)(std::string_view, const std::string&), std::string_view text) {
  try {
    parse(text, "t");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RateCsv, HoldsStepsInEitherUnit) {
  const std::vector<RateStep> steps = {{0, 100e6}, {2.5, 1e9}};
  const RateTrace bits = parse_rate_csv("time_s,rate_bit_per_s\n0,100000000\n2.5,1e9\n", "t");
  EXPECT_EQ(bits.steps, steps);
  EXPECT_FALSE(bits.period_s);
  EXPECT_EQ(parse_rate_csv("# why\r\ntime_s,rate_mbit_per_s\r\n\r\n0,100\r\n# again\r\n2.5,1000", "t").steps,
            steps);
}

TEST(RateCsv, TellsTheLineThatIsWrong) {
  const auto refused = [](std::string_view rows) {
    return refusal(parse_rate_csv, "# a comment\ntime_s,rate_mbit_per_s\n" + std::string(rows));
  };
  EXPECT_THAT(refused("0,100\n2,200\n1,300\n"),
              AllOf(StartsWith("t: line 5: the time 1 comes after 2"), HasSubstr("must increase")));
  EXPECT_THAT(refused("0,100\n0,200\n"), StartsWith("t: line 4: the time 0 comes after 0"));
  EXPECT_THAT(refused("1,100\n"), StartsWith("t: line 3: the first time must be 0, but is 1"));
  EXPECT_THAT(refused("-1,100\n"), StartsWith("t: line 3: the first time must be 0"));
  EXPECT_THAT(refused("0,100\n1,0\n"),
              AllOf(StartsWith("t: line 4: the rate must be at least 100 kbit/s"), HasSubstr("is 0 bit/s")));
  EXPECT_THAT(refused("0,-5\n"), StartsWith("t: line 3: the rate must be at least"));
  EXPECT_THAT(refused("0,17000\n"), HasSubstr("at most 16 Gbit/s"));
  for (const char* const row :
       {"0", "0,", "0,x", "0,100,1", "0;100", "nan,100", "0,inf", "0 ,100", "0,100 Mbit/s"}) {
    EXPECT_THAT(refused(row), StartsWith("t: line 3: must be two numbers")) << row;
  }
  EXPECT_THAT(refused(""), StartsWith("t: has no row"));
  EXPECT_THAT(refusal(parse_rate_csv, "0,100\n"),
              StartsWith("t: line 1: must be the header \"time_s,rate_bit"));
  EXPECT_THAT(refusal(parse_rate_csv, "# nothing\n"), StartsWith("t: is empty"));
}

// Files like those of spreadsheets: "CSV UTF-8"; "Unicode text" is UTF-16.
TEST(RateCsv, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(parse_rate_csv("\xef\xbb\xbftime_s,rate_mbit_per_s\r\n0,100\r\n2,250\r\n", "t").steps.size(), 2);
  EXPECT_THAT(refusal(parse_rate_csv, "\xff\xfet"), HasSubstr("byte order mark of UTF-16"));
  EXPECT_EQ(parse_mahimahi("\xef\xbb\xbf"
                           "1\n",
                           "t")
                .steps.size(),
            1);
}

TEST(RateCsv, ShowsWhatATerminalWouldHide) {
  EXPECT_THAT(refusal(parse_rate_csv, "time_s\xe2\x80\x8e,rate_mbit_per_s\x1b[A\n"),
              HasSubstr("but is \"time_s\\u200e,rate_mbit_per_s\\u001b[A\""));
}

TEST(Mahimahi, CountsFullFramesInWindows) {
  std::string text;
  for (int ms = 1; ms <= 100; ++ms) text += std::to_string(ms) + "\n";       // one per millisecond
  for (int ms = 102; ms <= 200; ms += 2) text += std::to_string(ms) + "\n";  // every other
  const RateTrace trace = parse_mahimahi(text, "t");
  EXPECT_THAT(trace.steps, ElementsAre(RateStep{0, 1514 * 8e3}, RateStep{0.1, 1514 * 4e3}));
  EXPECT_EQ(trace.period_s, 0.2);
}

TEST(Mahimahi, AShortRestJoinsTheWindowBefore) {
  std::string text;
  for (int ms = 1; ms <= 149; ++ms) text += std::to_string(ms) + "\n";
  EXPECT_THAT(parse_mahimahi(text, "t").steps, ElementsAre(RateStep{0, 1514 * 8e3}));
  // A rest of at least half a window is a window of its own. Equal rates become one step.
  const RateTrace longer = parse_mahimahi(text + "150\n150\n", "t");
  ASSERT_EQ(longer.steps.size(), 2U);
  EXPECT_EQ(longer.steps[1].at_s, 0.1);
  EXPECT_NEAR(longer.steps[1].rate_bit_per_s, 8 * 1514 * 51 / 0.05, 1);
}

TEST(Mahimahi, AnOutageIsTheSlowestRate) {
  EXPECT_THAT(parse_mahimahi("0\n5\n5\n400\n", "t").steps,
              ElementsAre(RateStep{0, 3 * 1514 * 80}, RateStep{0.1, 100e3}, RateStep{0.3, 1514 * 80}));
}

TEST(Mahimahi, TellsTheLineThatIsWrong) {
  EXPECT_THAT(refusal(parse_mahimahi, "1\n7\n6\n"),
              StartsWith("t: line 3: comes at 6 ms, after one at 7 ms; times must not decrease"));
  for (const char* const line : {"1.5", "-1", "x", "1 2", "time_s,rate_bit_per_s", "99999999999999999999"}) {
    EXPECT_THAT(refusal(parse_mahimahi, line),
                StartsWith("t: line 1: must be a whole number of milliseconds"))
        << line;
  }
  EXPECT_THAT(refusal(parse_mahimahi, ""), HasSubstr("later than 0 ms"));
  EXPECT_THAT(refusal(parse_mahimahi, "0\n0\n"), HasSubstr("later than 0 ms"));
  std::string flood;
  for (int i = 0; i < 2000; ++i) flood += "1\n";
  EXPECT_THAT(refusal(parse_mahimahi, flood), HasSubstr("2000 packets from 0 to 1 ms"));
}

TEST(LoadRateTrace, TheShippedTraceIsWhatItSays) {
  const RateTrace trace = load_rate_trace(source_path("topologies/traces/100-to-1000.csv"));
  ASSERT_EQ(trace.steps.size(), 24U);
  double sum = 0;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    EXPECT_EQ(trace.steps[i].at_s, 2.0 * static_cast<double>(i));
    EXPECT_GE(trace.steps[i].rate_bit_per_s, 100e6);
    EXPECT_LE(trace.steps[i].rate_bit_per_s, 1000e6);
    sum += trace.steps[i].rate_bit_per_s;
  }
  EXPECT_NEAR(sum / 24, 529e6, 0.5e6);
}

TEST(LoadRateTrace, AMissingFileIsAnInputError) {
  EXPECT_THROW(load_rate_trace("/nowhere/trace.csv"), InputError);
}

}  // namespace
}  // namespace thinpipe::netem
