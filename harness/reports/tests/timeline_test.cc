// SPDX-License-Identifier: Apache-2.0
// The spans and counters of a timeline, from made-up lines.
#include "harness/reports/timeline.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json iteration(std::int64_t number) {
  return {{"event", "iteration"},
          {"iteration", number},
          {"train_time_s", 0.5 * static_cast<double>(number)},
          {"iteration_time_s", 0.5},
          {"load_s", 0.125},
          {"first_bucket_s", 0.0625},
          {"exposed_exchange_s", 0.25},
          {"exchange_s", 0.3},
          {"compute_s", 0.1}};
}

const std::vector<Json> links = {
    {{"directions", {"a->b", "b->a"}}, {"period_s", 0.5}},
    {{"at_s", 10.0}, {"iteration", 1}},
    {{"from_s", 9.5},
     {"at_s", 10.0},
     {"bytes", {1'000'000, 0}},
     {"max_queue_bytes", {5000, 0}},
     {"drops", {0, 0}}},
    {{"at_s", 12.0}, {"iteration", 2}},
    {{"from_s", 20.0}, {"at_s", 20.5}, {"bytes", {9, 9}}, {"max_queue_bytes", {9, 9}}, {"drops", {0, 0}}},
};

// Returns {name, begin, end} of the spans, in seconds.
std::vector<Json> spans(const Json& trace) {
  std::vector<Json> out;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double from_s = event.at("ts").get<double>() / 1e6;
    out.push_back({event.at("name"), from_s, from_s + event.at("dur").get<double>() / 1e6});
  }
  return out;
}

std::vector<Json> counters(const Json& trace) {
  std::vector<Json> out;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "C") out.push_back({event.at("name"), event.at("args")});
  }
  return out;
}

TEST(Timeline, IterationsEndWhereTheLinksMarkThem) {
  const Json trace = chrome_trace({.iterations = {iteration(1), iteration(2)}, .links = links}, {1, 1});
  EXPECT_THAT(spans(trace),
              ElementsAre(Json({"iteration 1", 9.5, 10.0}), Json({"load", 9.5, 9.625}),
                          Json({"forward and backward", 9.625, 9.75}), Json({"exchange", 9.6875, 10.0}),
                          Json({"waits for the exchange", 9.75, 10.0})));
  EXPECT_THAT(counters(trace),
              ElementsAre(Json({"rate a->b", {{"Mbit/s", 16.0}}}), Json({"queue a->b", {{"kB", 5.0}}}),
                          Json({"rate b->a", {{"Mbit/s", 0.0}}}), Json({"queue b->a", {{"kB", 0.0}}})));
}

Json of_worker(std::int64_t rank, std::int64_t number, double at_s, const Json& exposed_exchange_s) {
  return {{"rank", rank},
          {"iteration", number},
          {"at_s", at_s},
          {"iteration_time_s", 0.5},
          {"exposed_exchange_s", exposed_exchange_s}};
}

TEST(Timeline, EachWorkerHasATrack) {
  const std::vector<Json> workers = {of_worker(1, 1, 8.0, 0.25), of_worker(0, 1, 9.75, 0.125),
                                     of_worker(1, 1, 9.75, 0.25),  // repeated after a restart
                                     of_worker(2, 1, 9.5, nullptr), of_worker(1, 2, 20.0, 0.25)};
  const Json trace = chrome_trace({.iterations = {iteration(1)}, .links = links, .workers = workers}, {1, 1});
  const std::vector<Json> all = spans(trace);
  EXPECT_EQ(all.front(), Json({"iteration 1", 9.25, 9.75})) << "worker 0 knows its end better than the mark";
  EXPECT_THAT(std::vector(all.begin() + 5, all.end()),
              ElementsAre(Json({"compute", 9.25, 9.625}), Json({"waits for the exchange", 9.625, 9.75}),
                          Json({"compute", 9.25, 9.5}), Json({"waits for the exchange", 9.5, 9.75}),
                          Json({"iteration", 9.0, 9.5})));
  std::vector<Json> tracks;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("pid") == 3 && event.at("name") == "thread_name")
      tracks.push_back({event.at("tid"), event.at("args").at("name")});
  }
  EXPECT_THAT(tracks, ElementsAre(Json({1, "worker 0"}), Json({2, "worker 1"}), Json({3, "worker 2"})));
}

TEST(Timeline, WithoutLinksIterationsEndAtTheirTrainTime) {
  const Json trace = chrome_trace(
      {.iterations = {iteration(1), {{"event", "evaluation"}, {"iteration", 1}}, iteration(2)}}, {2, 9});
  EXPECT_EQ(spans(trace).front(), Json({"iteration 2", 0.5, 1.0}));
  EXPECT_THAT(counters(trace), IsEmpty());
}

TEST(Timeline, PartsThatATrainerDoesNotMeasureAreLeftOut) {
  const Json external = {{"event", "iteration"},    {"iteration", 1},    {"train_time_s", 1.0},
                         {"iteration_time_s", 1.0}, {"load_s", nullptr}, {"exposed_exchange_s", nullptr}};
  EXPECT_THAT(spans(chrome_trace({.iterations = {external}}, {1, 1})),
              ElementsAre(Json({"iteration 1", 0.0, 1.0}), Json({"forward and backward", 0.0, 1.0}),
                          Json({"exchange", 0.0, 1.0})));
}

class TimelineFiles : public testing::Test {
 protected:
  void write(const char* file, const std::string& text) const {
    std::ofstream(folder_.path() / file) << text;
  }

  std::string failure() const {
    try {
      chrome_trace(folder_.path(), {1, 10});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(TimelineFiles, AreReadUpToALineThatIsCutShort) {
  write("iterations.jsonl", iteration(1).dump() + "\n" + iteration(2).dump() + "\n{\"event\": \"iter");
  write("links.jsonl", "");
  EXPECT_EQ(spans(chrome_trace(folder_.path(), {1, 10})).size(), 10U);
}

TEST_F(TimelineFiles, WithoutSuchIterationsOrWithGarbageAreNamed) {
  EXPECT_THAT(failure(), HasSubstr("iterations.jsonl: has no iterations 1 to 10 with times"));
  write("iterations.jsonl", "[]\n");
  EXPECT_THAT(failure(), HasSubstr("iterations.jsonl:1: is not a JSON object"));
  write("iterations.jsonl", iteration(1).dump() + "\n");
  write("links.jsonl", "{\"bytes\": []}\n");
  EXPECT_THAT(failure(), HasSubstr("links.jsonl or workers.jsonl cannot be read"));
  write("links.jsonl", "");
  write("workers.jsonl", "{\"rank\": 0}\n");
  EXPECT_THAT(failure(), HasSubstr("links.jsonl or workers.jsonl cannot be read"));
}

}  // namespace
}  // namespace thinpipe
