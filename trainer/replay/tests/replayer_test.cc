// SPDX-License-Identifier: Apache-2.0
#include "trainer/replay/replayer.hh"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"

namespace thinpipe::trainer {
namespace {

const std::vector<int> parents = {-1, 0};

// A trace of two workers and two parameters, in a bucket each, with every operation.
CommunicationTrace trace_of_every_operation() {
  CommunicationTrace trace{.world_size = 2, .configuration = Json::object()};
  trace.parameters = {{"first", 30}, {"last", 10}};
  trace.layouts = {{{.parameters = {1}}, {.parameters = {0}}}};
  const auto exchange_of = [](int rank) {
    const std::int64_t own = rank == 0 ? 3 : 5;
    return Exchange{
        .buckets = {
            {AllReduceCall{.type = ElementType::float16, .elements = 10},
             AllGatherCall{.type = ElementType::uint8, .counts = {3, 5}}},
            {AllToAllCall{.type = ElementType::int32, .sent = {own, own}, .received = {3, 5}},
             BroadcastCall{.type = ElementType::int8, .elements = 7, .root = 1},
             PointToPointCall{.message_bytes = 16,
                              .messages = {{.to = 1 - rank, .bytes = 16, .repeat = 2}, {.repeat = 2}}},
             AllReduceCall{.elements = 4, .reduction = Reduction::max},
             AllReduceCall{.type = ElementType::int8, .elements = 6, .largest_code = 63},
             AllReduceCall{.type = ElementType::int8, .elements = 6, .largest_code = 63, .in_chunks = true},
             SparseAllReduceCall{.elements = 100,
                                 .payload_bytes = 46,
                                 .edges = {{.neighbour = 1 - rank, .sent = 46, .received = 40}}},
             BarrierCall{}}}};
  };
  trace.exchanges = {exchange_of(0), exchange_of(1)};
  trace.workers = {{{0, 4}}, {{1, 4}}};
  return trace;
}

// A trace of one worker and one parameter.
CommunicationTrace trace_of_one_bucket(const std::vector<CollectiveCall>& calls) {
  CommunicationTrace trace{.world_size = 1, .configuration = Json::object()};
  trace.parameters = {{"weight", 30}};
  trace.layouts = {{{.parameters = {0}}}};
  trace.exchanges = {{.buckets = {calls}}};
  trace.workers = {{{0, 1}}};
  return trace;
}

ComputeTimes times_of(double load_s, std::vector<double> ready_s, double compute_s, double finish_s) {
  return {.load_s = load_s, .ready_s = std::move(ready_s), .compute_s = compute_s, .finish_s = finish_s};
}

TEST(Replayer, MakesTheCallsOfTheTraceAgain) {
  const CommunicationTrace trace = trace_of_every_operation();
  const ComputeTimes times = times_of(0, {0, 0}, 0, 0);
  run_in_process(2, parents, [&](std::unique_ptr<Collective> member) {
    const auto rank = static_cast<std::size_t>(member->rank());
    MeteredCollective metered(std::move(member));
    std::vector<CollectiveCall> calls;
    metered.set_observer([&](CollectiveCall call) { calls.push_back(std::move(call)); });
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    replayer.replay(rank);
    std::vector<CollectiveCall> expected = trace.exchanges[rank].buckets[0];
    for (const CollectiveCall& call : trace.exchanges[rank].buckets[1]) expected.push_back(call);
    EXPECT_EQ(calls, expected) << "rank " << rank;
    metered.unmetered().barrier();
  });
}

// Warm-up takes both buckets of a small gradient, and the first buckets of a large one until there is enough.
TEST(Replayer, WarmsUpWithTheFirstBuckets) {
  CommunicationTrace trace = trace_of_every_operation();
  const ComputeTimes times = times_of(0, {0, 0}, 0, 0);
  const auto calls_of_a_warm_up = [&times](const CommunicationTrace& of) {
    std::size_t calls = 0;
    run_in_process(2, parents, [&](std::unique_ptr<Collective> member) {
      const auto rank = static_cast<std::size_t>(member->rank());
      MeteredCollective metered(std::move(member));
      if (rank == 0) metered.set_observer([&](const CollectiveCall& /*call*/) { ++calls; });
      Replayer replayer(of, times, ComputeEmulation::sleep, metered);
      replayer.warm_up(rank);
      replayer.warm_up(std::nullopt);
      metered.unmetered().barrier();
    });
    return calls;
  };
  EXPECT_EQ(calls_of_a_warm_up(trace), 2U + 8U);
  trace.parameters[1].elements = std::int64_t{1} << 30;  // in the first bucket
  EXPECT_EQ(calls_of_a_warm_up(trace), 2U);
}

TEST(Replayer, CountsWhatItSends) {
  const CommunicationTrace trace = trace_of_every_operation();
  const ComputeTimes times = times_of(0, {0, 0}, 0, 0);
  run_in_process(2, parents, [&](std::unique_ptr<Collective> member) {
    const auto rank = static_cast<std::size_t>(member->rank());
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    const Section section = replayer.replay(rank).front().section;
    const std::int64_t own = rank == 0 ? 3 : 5;
    EXPECT_EQ(section.payload_bytes,
              10 * 2 + own + 2 * own * 4 + (rank == 1 ? 7 : 0) + 32 + 4 * 4 + 2 * 6 + 46);
    metered.unmetered().barrier();
  });
}

// Checks the order and the minimum duration of waits; a test cannot judge how exact clocks are.
TEST(Replayer, WaitsWhereTheTrainingComputes) {
  CommunicationTrace trace{.world_size = 1, .configuration = Json::object()};
  trace.parameters = {{"first", 30}, {"last", 10}};
  trace.layouts = {{{.parameters = {1}}, {.parameters = {0}}}};
  trace.exchanges = {{.buckets = {{BarrierCall{}}, {BarrierCall{}}}}};
  trace.workers = {{{0, 1}}};
  ComputeTimes times = times_of(0.01, {0.03, 0.02}, 0.04, 0.005);
  times.encode_s = 0.004;
  times.decode_s = 0.008;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    const ReplayedIteration exchanged = replayer.replay(0U).front();
    EXPECT_GE(exchanged.iteration_time_s, 0.01 + 0.04 + 0.005);
    EXPECT_GE(exchanged.load_s, 0.01);
    EXPECT_GE(exchanged.load_s + exchanged.first_bucket_s, 0.01 + 0.02);
    EXPECT_LE(exchanged.load_s + exchanged.first_bucket_s, exchanged.iteration_time_s);
    EXPECT_GE(exchanged.section.encode_s, 0.004);
    EXPECT_GE(exchanged.section.decode_s, 0.006);  // of the last bucket, three quarters of the gradient
    const ReplayedIteration local = replayer.replay(std::nullopt).front();
    EXPECT_GE(local.iteration_time_s, 0.01 + 0.04 + 0.005);
    EXPECT_EQ(local.section.collectives, 0);
  });
}

TEST(Replayer, ComputesOnWhileAnExchangeThatSpansStepsIsUnderWay) {
  CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}});
  ComputeTimes times = times_of(0.001, {0.002}, 0.004, 0.005);
  times.encode_s = 0.025;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    trace.exchanges[0].overlap_steps = 3;
    const std::vector<ReplayedIteration> steps = replayer.replay(0U);
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].section.collectives, 0);
    EXPECT_EQ(steps[1].exposed_exchange_s, 0);
    EXPECT_EQ(steps[2].section.collectives, 1);
    EXPECT_GE(steps[2].section.encode_s, 0.025);
    for (const ReplayedIteration& step : steps) EXPECT_GE(step.iteration_time_s, 0.01);
    trace.exchanges[0].overlap_steps = 0;
    const std::vector<ReplayedIteration> after = replayer.replay(0U);
    ASSERT_EQ(after.size(), 1U);
    EXPECT_GT(after[0].exposed_exchange_s, 0);
    EXPECT_GE(after[0].iteration_time_s, 0.035);
  });
}

TEST(Replayer, EncodesBeforeEachCollectiveWhatTheTrainingDidThere) {
  const CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}, BarrierCall{}, BarrierCall{}});
  ComputeTimes times = times_of(0, {0}, 0, 0);
  times.encode_s = 0.01;
  times.between_collectives_s = 0.008;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    const Section section = replayer.replay(0U).front().section;
    EXPECT_GE(section.encode_s, 0.01);
    EXPECT_GE(section.between_collectives_s, 0.008);
    EXPECT_GE(section.encode_s - section.between_collectives_s, 0.002);
  });
}

TEST(Replayer, EncodesAndDecodesPiecesWhileTheirSumIsUnderWay) {
  const CommunicationTrace trace = trace_of_one_bucket(
      {AllReduceCall{.type = ElementType::int8, .elements = 100'000, .largest_code = 1, .in_chunks = true}});
  ComputeTimes times = times_of(0, {0}, 0, 0);
  times.encode_s = 0.01;
  times.decode_s = 0.008;
  times.overlapped_decode_s = 0.006;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::sleep, metered);
    const Section section = replayer.replay(0U).front().section;
    EXPECT_GE(section.between_collectives_s, 0.01);
    EXPECT_GE(section.encode_s, 0.01);
    EXPECT_GE(section.decode_s, 0.008);
    EXPECT_GE(section.overlapped_decode_s, 0.006);
    EXPECT_GE(section.decode_s - section.overlapped_decode_s, 0.002);
  });
}

TEST(Replayer, WorksWhereItIsTo) {
  const CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}});
  ComputeTimes times = times_of(0.01, {0.03}, 0.04, 0.005);
  times.encode_s = 0.004;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::busy, metered);
    const Stopwatch stopwatch;
    const ReplayedIteration iteration = replayer.replay(0U).front();
    const Section& section = iteration.section;
    EXPECT_GE(iteration.cpu_s, 0.01 + 0.04 + 0.005 + 0.004);
    EXPECT_GE(stopwatch.cpu_s(), 0.01 + 0.04 + 0.005);
    EXPECT_GE(section.encode_cpu_s, 0.004);
  });
}

// Twenty draws of the generator, the same in every run, include slow and fast iterations.
TEST(Replayer, VariesWhatIterationsCompute) {
  const CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}});
  const ComputeTimes times = times_of(0, {0}, 0.01, 0);
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::busy, metered, 0.3);
    std::vector<double> computed_s;
    for (int i = 0; i < 20; ++i) computed_s.push_back(replayer.replay(0U).front().cpu_s);
    EXPECT_LT(std::ranges::min(computed_s), 0.01);
    EXPECT_GT(std::ranges::max(computed_s), 0.012);
  });
}

TEST(Replayer, TakesLongerForTheFirstIterationOfATraining) {
  const CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}});
  for (const ComputeEmulation compute_emulation : {ComputeEmulation::busy, ComputeEmulation::sleep}) {
    ComputeTimes times = times_of(0, {0}, 0.001, 0);
    times.start_s = 0.03;
    run_in_process(1, [&](std::unique_ptr<Collective> member) {
      MeteredCollective metered(std::move(member));
      Replayer replayer(trace, times, compute_emulation, metered);
      EXPECT_GE(replayer.replay(0U, true).front().iteration_time_s, 0.031);
      const ReplayedIteration later = replayer.replay(0U).front();
      if (compute_emulation == ComputeEmulation::busy) {
        EXPECT_LT(later.cpu_s, 0.03);
      }
    });
  }
}

// The second and the third of three iterations wait for their batches, which another thread prepares.
TEST(Replayer, PreparesBatchesMeanwhile) {
  const CommunicationTrace trace = trace_of_one_bucket({BarrierCall{}});
  ComputeTimes times = times_of(0, {0}, 0, 0);
  times.prepare_s = 0.01;
  run_in_process(1, [&](std::unique_ptr<Collective> member) {
    MeteredCollective metered(std::move(member));
    Replayer replayer(trace, times, ComputeEmulation::busy, metered);
    EXPECT_GE(replayer.replay(0U).front().cpu_s, 0.01);
    const Stopwatch stopwatch;
    replayer.replay(0U);
    replayer.replay(0U);
    EXPECT_GE(stopwatch.elapsed_s(), 0.01);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
