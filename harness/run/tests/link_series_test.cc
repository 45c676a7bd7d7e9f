// SPDX-License-Identifier: Apache-2.0
// The samples and marks of a series, from made-up readings.
#include "harness/run/network/link_series.hh"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A reading of two directions, of which the second sends nothing.
std::vector<netem::LinkCounters> reading(double time_s, std::uint64_t bytes, std::uint64_t backlog_bytes = 0,
                                         std::uint64_t drops = 0) {
  return {{.name = "a->b", .bytes = bytes, .drops = drops, .backlog_bytes = backlog_bytes, .time_s = time_s},
          {.name = "b->a", .time_s = time_s}};
}

class LinkSeriesTest : public testing::Test {
 protected:
  std::vector<Json> lines() const {
    std::istringstream text(read_file(file_));
    std::vector<Json> out;
    for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
    return out;
  }

  // The lines of samples.
  std::vector<Json> samples() const {
    std::vector<Json> out;
    for (Json& line : lines()) {
      if (line.contains("bytes")) out.push_back(std::move(line));
    }
    return out;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "links.jsonl";
};

TEST_F(LinkSeriesTest, SamplesHaveTheBytesAndTheLongestQueueOfTheirTime) {
  LinkSeries series(file_, 10, reading(100, 5000));
  series.add(reading(100.04, 6000, 300));
  series.add(reading(100.08, 7000, 900, 1));
  EXPECT_THAT(samples(), IsEmpty()) << "none is due";
  series.add(reading(100.1, 9000, 100, 2));
  series.add(reading(100.2, 9500));
  EXPECT_EQ(lines().front(), Json({{"directions", {"a->b", "b->a"}}, {"period_s", 0.1}}));
  EXPECT_THAT(samples(), ElementsAre(Json({{"from_s", 0.0},
                                           {"at_s", 0.1},
                                           {"bytes", {4000, 0}},
                                           {"max_queue_bytes", {900, 0}},
                                           {"drops", {2, 0}}}),
                                     Json({{"from_s", 0.1},
                                           {"at_s", 0.2},
                                           {"bytes", {500, 0}},
                                           {"max_queue_bytes", {0, 0}},
                                           {"drops", {0, 0}}})));
}

TEST_F(LinkSeriesTest, SamplesHaveMarksIfAQueueMarksFrames) {
  const auto marked = [](double time_s, std::uint64_t marks) {
    std::vector<netem::LinkCounters> out = reading(time_s, 0);
    out[1].marks = marks;
    return out;
  };
  LinkSeries series(file_, 10, marked(100, 7));
  series.add(marked(100.1, 7));
  series.add(marked(100.2, 10));
  ASSERT_EQ(samples().size(), 2U);
  EXPECT_EQ(samples()[0].at("marks"), Json({0, 0}));
  EXPECT_EQ(samples()[1].at("marks"), Json({0, 3})) << "no pause, although no bytes left";
}

TEST_F(LinkSeriesTest, ThereAreAsManySamplesAsWereAskedFor) {
  LinkSeries series(file_, 100, reading(0, 0));
  for (std::uint64_t i = 1; i <= 250; ++i) series.add(reading(0.004 * static_cast<double>(i), 1000 * i));
  EXPECT_EQ(samples().size(), 100U) << "in one second of readings every 4 ms";
}

TEST_F(LinkSeriesTest, OfAPauseOnlyTheFirstSampleIsWritten) {
  LinkSeries series(file_, 10, reading(0, 0));
  for (int i = 1; i < 10; ++i) series.add(reading(0.1 * i, 1000));
  series.add(reading(1.0, 1700));
  const std::vector<Json> written = samples();
  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[0].at("bytes"), Json({1000, 0}));
  EXPECT_EQ(written[1].at("bytes"), Json({0, 0}));
  EXPECT_EQ(written[2].at("bytes"), Json({700, 0}));
  EXPECT_EQ(written[2].at("from_s"), 0.9) << "the bytes are those of the last tenth of a second";
}

TEST_F(LinkSeriesTest, AddsUpToTheCountersAtItsEnd) {
  LinkSeries series(file_, 10, reading(0, 123));
  for (int i = 1; i <= 100; ++i)
    series.add(reading(0.013 * i, 123 + 777 * static_cast<std::uint64_t>(i * i)));
  series.end(reading(1.305, 123 + 8'000'000));
  series.add(reading(2, 123 + 9'000'000));
  std::int64_t sum = 0;
  for (const Json& sample : samples()) sum += sample.at("bytes").at(0).get<std::int64_t>();
  EXPECT_EQ(sum, 8'000'000);
}

TEST_F(LinkSeriesTest, BeginsAnewWithTraining) {
  LinkSeries series(file_, 10, reading(50, 0));
  series.add(reading(51, 1000));
  series.restart(reading(60, 1000));
  series.mark("evaluation", 0, 60);
  series.add(reading(60.1, 1200));
  series.mark("iteration", 1, 60.25);
  const std::vector<Json> written = lines();
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(written[1], Json({{"at_s", 0.0}, {"evaluation", 0}}));
  EXPECT_EQ(written[2].at("bytes"), Json({200, 0}));
  EXPECT_EQ(written[3], Json({{"at_s", 0.25}, {"iteration", 1}}));
}

TEST_F(LinkSeriesTest, ACounterThatTheKernelResetCountsAsNothing) {
  LinkSeries series(file_, 10, reading(0, 5000));
  series.add(reading(0.1, 100));
  series.add(reading(0.2, 400));
  EXPECT_EQ(samples().at(0).at("bytes"), Json({0, 0}));
  EXPECT_EQ(samples().at(1).at("bytes"), Json({300, 0}));
}

TEST(LinkSeries, OnAFullDiskNamesTheFile) {
  try {
    LinkSeries series("/dev/full", 10, reading(0, 0));
    ADD_FAILURE() << "was written to a full disk";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/dev/full"));
  }
}

}  // namespace
}  // namespace thinpipe
