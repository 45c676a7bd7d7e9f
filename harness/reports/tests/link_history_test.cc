// SPDX-License-Identifier: Apache-2.0
// The few points of a series that the page draws, from made-up samples.
#include "harness/reports/link_history.hh"

#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

Json link_sample(double from_s, double at_s, const Json& bytes, const Json& queues, const Json& drops) {
  return {
      {"from_s", from_s}, {"at_s", at_s}, {"bytes", bytes}, {"max_queue_bytes", queues}, {"drops", drops}};
}

Json shaper(const char* direction, double rate_bit_per_s) {
  return {{"name", std::string("shaper ") + direction}, {"specified", {{"rate_bit_per_s", rate_bit_per_s}}}};
}

const Json series_head = {{"directions", {"a->b", "b->a"}}, {"period_s", 0.5}};

TEST(LinkHistory, HasTheRateQueueAndDropsOfEachPartOfTheTime) {
  const std::vector<Json> lines = {series_head,
                                   {{"at_s", 0.4}, {"iteration", 1}},
                                   link_sample(0, 0.5, {125'000, 0}, {5000, 0}, {0, 0}),
                                   link_sample(0.5, 1.0, {0, 0}, {0, 0}, {0, 0}),
                                   // A pause, of which only the first sample is written.
                                   link_sample(1.5, 2.0, {250'000, 125'000}, {0, 900}, {0, 2})};
  const Json record = {{"fidelity", {{"checks", {shaper("a->b", 5e6)}}}}};
  EXPECT_EQ(link_history(lines, record), Json::parse(R"({"end_s": 2.0, "directions": [
      {"name": "a->b", "rates": [2.0, 0.0, 0.0, 4.0], "queues": [5.0, 0.0, 0.0, 0.0], "drops": [], "caps": [[0, 5.0]]},
      {"name": "b->a", "rates": [0.0, 0.0, 0.0, 2.0], "queues": [0.0, 0.0, 0.0, 0.9], "drops": [3], "caps": []}]})"));
}

TEST(LinkHistory, OfALongSeriesHasAllBytesInFewPoints) {
  std::vector<Json> lines = {series_head};
  for (int i = 0; i < 999; ++i)
    lines.push_back(link_sample(0.1 * i, 0.1 * (i + 1), {1000, 10}, {i, 0}, {0, i == 998 ? 1 : 0}));
  const Json history = link_history(lines, Json::object());
  const Json& direction = history.at("directions").at(0);
  ASSERT_EQ(direction.at("rates").size(), 200U);
  ASSERT_EQ(direction.at("queues").size(), 200U);
  const auto rates = direction.at("rates").get<std::vector<double>>();
  const double part_s = 99.9 / 200;
  EXPECT_NEAR(std::accumulate(rates.begin(), rates.end(), 0.0) * part_s * 1e6 / 8, 999'000, 1000);
  EXPECT_EQ(direction.at("queues").back(), 0.998);
  EXPECT_EQ(history.at("directions").at(1).at("drops"), Json({199}));
}

TEST(LinkHistory, CapsFollowTheChangesOfTheNetwork) {
  const auto change = [](double at_s, const Json& applied) {
    return Json{{"confirmed_s", at_s}, {"applied", {{"a->b", applied}}}};
  };
  const Json record = {{"fidelity", {{"checks", {shaper("a->b", 1e8)}}}},
                       {"network_events",
                        {change(1, {{"rate_bit_per_s", 2e7}}),
                         change(2, {{"delay_s", 0.1}}),
                         change(3, {{"state", "down"}}),
                         change(3.5, {{"rate_bit_per_s", 3e7}}),
                         change(4, {{"state", "up"}}),
                         {{"confirmed_s", nullptr}, {"applied", {{"a->b", {{"state", "down"}}}}}},
                         {{"confirmed_s", 5}, {"applied", nullptr}}}}};
  const Json history = link_history({series_head, link_sample(0, 0.5, {1, 1}, {0, 0}, {0, 0})}, record);
  EXPECT_EQ(history.at("directions").at(0).at("caps"),
            Json::parse("[[0, 100.0], [1.0, 20.0], [3.0, 0], [3.5, 0], [4.0, 30.0]]"));
}

TEST(LinkHistory, OfManyDirectionsHasTheBusiest) {
  Json names = Json::array();
  Json bytes = Json::array();
  Json zeros = Json::array();
  for (int i = 0; i < 20; ++i) {
    names.push_back(std::to_string(i));
    bytes.push_back(i == 3 ? 9000 : 100 * i);
    zeros.push_back(0);
  }
  const Json history = link_history(
      {{{"directions", names}, {"period_s", 1}}, link_sample(0, 1, bytes, zeros, zeros)}, Json::object());
  std::vector<std::string> kept;
  for (const Json& direction : history.at("directions")) kept.push_back(direction.at("name"));
  EXPECT_THAT(kept, testing::ElementsAre("3", "13", "14", "15", "16", "17", "18", "19"));
}

TEST(LinkHistory, OfAFolderWithoutASeriesIsNullAndAWrongFileIsNamed) {
  const TemporaryFolder folder;
  EXPECT_TRUE(link_history(folder.path()).is_null());
  std::ofstream(folder.path() / "run.json") << "{}";
  std::ofstream(folder.path() / "links.jsonl") << series_head.dump() << "\n";
  EXPECT_TRUE(link_history(folder.path()).is_null()) << "without samples";
  std::ofstream(folder.path() / "links.jsonl") << "{\"period_s\": 1}\n";
  try {
    link_history(folder.path());
    ADD_FAILURE() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("links.jsonl or run.json cannot be read"));
  }
}

}  // namespace
}  // namespace thinpipe
