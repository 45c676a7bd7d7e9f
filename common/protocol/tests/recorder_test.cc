// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/recorder.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

AllGatherCall gather(std::int64_t first, std::int64_t second) {
  return {.type = ElementType::uint8, .counts = {first, second}};
}

// Records one bucket with one call.
void step(TraceRecorder& recorder, CollectiveCall call) {
  recorder.begin_exchange(0);
  recorder.begin_bucket(0);
  recorder.add(std::move(call));
  recorder.finish_exchange();
  recorder.end_step();
}

TraceRecorder recorder_of_one_bucket() {
  TraceRecorder recorder;
  recorder.lay_out({{.parameters = {0}}});
  return recorder;
}

CommunicationTrace finished(const std::vector<TraceRecorder>& recorders) {
  CommunicationTrace trace{.world_size = static_cast<int>(recorders.size())};
  trace.parameters = {{"weight", 10}, {"bias", 1}};
  TraceRecorder::finish(recorders, trace);
  return trace;
}

TEST(TraceRecorder, KeepsEqualExchangesOnce) {
  TraceRecorder recorder = recorder_of_one_bucket();
  for (int i = 0; i < 100; ++i) step(recorder, gather(4, 4));
  step(recorder, gather(4, 8));
  step(recorder, gather(4, 4));
  const CommunicationTrace trace = finished({recorder});
  ASSERT_EQ(trace.exchanges.size(), 2U);
  EXPECT_EQ(trace.exchanges[0].buckets[0][0], CollectiveCall(gather(4, 4)));
  EXPECT_EQ(to_json(trace)["workers"], Json::parse("[[[0, 100], [1, 1], [0, 1]]]"));
}

TEST(TraceRecorder, KeepsOnceWhatSeveralWorkersDo) {
  TraceRecorder first = recorder_of_one_bucket();
  TraceRecorder second = recorder_of_one_bucket();
  step(first, gather(1, 2));
  step(first, gather(3, 4));
  step(second, gather(3, 4));
  step(second, gather(1, 2));
  const CommunicationTrace trace = finished({first, second});
  EXPECT_EQ(trace.exchanges.size(), 2U);
  EXPECT_EQ(to_json(trace)["workers"], Json::parse("[[[0, 1], [1, 1]], [[1, 1], [0, 1]]]"));
}

TEST(TraceRecorder, ContinuesATraceAsIfItHadRecordedItsSteps) {
  const auto record_first = [](std::vector<TraceRecorder>& recorders) {
    step(recorders[0], gather(1, 2));
    step(recorders[1], gather(3, 4));
    recorders[0].end_step();
    recorders[1].end_step();
  };
  const auto record_second = [](std::vector<TraceRecorder>& recorders) {
    for (TraceRecorder& recorder : recorders) EXPECT_EQ(recorder.lay_out({{.parameters = {0}}}), 0U);
    step(recorders[0], gather(5, 6));
    step(recorders[1], gather(1, 2));
  };
  std::vector<TraceRecorder> whole(2, recorder_of_one_bucket());
  record_first(whole);
  std::vector<TraceRecorder> continued;
  const CommunicationTrace earlier = finished(whole);
  for (std::size_t rank = 0; rank < 2; ++rank) continued.emplace_back(earlier, rank);
  record_second(whole);
  record_second(continued);
  EXPECT_EQ(to_json(finished(continued)), to_json(finished(whole)));
}

TEST(TraceRecorder, TellsLocalStepsFromExchanges) {
  TraceRecorder recorder = recorder_of_one_bucket();
  recorder.end_step();
  recorder.end_step();
  step(recorder, BarrierCall{});
  EXPECT_EQ(to_json(finished({recorder}))["workers"], Json::parse("[[[null, 2], [0, 1]]]"));
}

// Begun in the third step, finished in the fifth, where the next one begins, which an evaluation finishes.
TEST(TraceRecorder, PutsAnExchangeThatSpansStepsWhereItBegan) {
  TraceRecorder recorder = recorder_of_one_bucket();
  const auto begin = [&](CollectiveCall call) {
    recorder.begin_exchange(0, 2);
    recorder.begin_bucket(0);
    recorder.add(std::move(call));
  };
  recorder.end_step();
  recorder.end_step();
  begin(gather(1, 2));
  recorder.end_step();
  recorder.end_step();
  recorder.finish_exchange();
  begin(gather(3, 4));
  recorder.end_step();
  recorder.finish_exchange();
  recorder.end_step();
  recorder.end_step();
  const Json trace = to_json(finished({recorder}));
  EXPECT_EQ(trace["workers"], Json::parse("[[[null, 2], [0, 1], [null, 1], [1, 1], [null, 2]]]"));
  EXPECT_EQ(trace["exchanges"][1]["overlap_steps"], 2);
}

TEST(TraceRecorder, PutsCallsIntoTheirBucketsOfTheLayoutInForce) {
  TraceRecorder recorder = recorder_of_one_bucket();
  step(recorder, BarrierCall{});
  recorder.begin_exchange(recorder.lay_out({{.parameters = {1}}, {.parameters = {0}}}));
  recorder.begin_bucket(0);
  recorder.add(gather(1, 1));
  recorder.begin_bucket(1);
  recorder.add(gather(10, 10));
  recorder.add(BarrierCall{});
  recorder.finish_exchange();
  recorder.end_step();
  const CommunicationTrace trace = finished({recorder});
  EXPECT_EQ(trace.exchanges[0].layout, 0U);
  EXPECT_EQ(trace.exchanges[1].layout, 1U);
  EXPECT_EQ(trace.exchanges[1].buckets[0].size(), 1U);
  EXPECT_EQ(trace.exchanges[1].buckets[1].size(), 2U);
}

}  // namespace
}  // namespace thinpipe
