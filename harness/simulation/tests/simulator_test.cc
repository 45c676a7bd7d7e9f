// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/simulator.hh"

#include <gtest/gtest.h>

#include "harness/experiment/bundled_files.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

constexpr double cap_bit_per_s = 100e6;
constexpr double goodput_bytes_per_s = cap_bit_per_s / 8 * netem::goodput_of_cap;
// Time with as much in the other direction, whose acknowledgements take a part of the cap; relative to that without.
constexpr double both_ways = 1 / (1 - netem::acknowledgement_bytes / (2 * netem::full_frame_bytes));

netem::Topology three_switch() {
  return netem::load_topology(bundled_topologies().find("three-switch", {}, {}).string());
}

// Its messages take what their bytes take at the caps, exactly.
netem::Topology three_switch_without_bursts() {
  netem::Topology topology = three_switch();
  for (netem::Link& link : topology.links) {
    link.forward.burst_bytes = 0;
    link.backward.burst_bytes = 0;
  }
  return topology;
}

// Of workers that all make the same call for one bucket; `call_of` says which, by rank.
CommunicationTrace trace_of(int workers, const std::function<CollectiveCall(int rank)>& call_of) {
  CommunicationTrace trace{
      .world_size = workers, .parameters = {{"weight", 1000}}, .layouts = {{{.parameters = {0}}}}};
  for (int rank = 0; rank < workers; ++rank) {
    trace.exchanges.push_back({.buckets = {{call_of(rank)}}});
    trace.workers.push_back({{static_cast<std::size_t>(rank), 1}});
  }
  return trace;
}

const ComputeTimes no_compute = {.ready_s = {0}};

SimulatedIteration simulated(const CommunicationTrace& trace, const ComputeTimes& times = no_compute,
                             const netem::Topology& topology = three_switch_without_bursts(),
                             const CollectiveRouting& routing = {}) {
  return Simulator(topology, trace, times, routing).iterate(schedule_of(trace).classes.at(0).samples.at(0));
}

double time_along_tree(const std::function<CollectiveCall(int rank)>& call_of, int workers = 8) {
  const std::vector<int> parents =
      netem::reduction_tree_of(three_switch(), static_cast<std::size_t>(workers));
  return simulated(trace_of(workers, call_of), no_compute, three_switch_without_bursts(),
                   {.reduction_tree = parents})
      .iteration_time_s;
}

CollectiveCall sum_of(std::int64_t elements) {
  return AllReduceCall{.elements = elements};
}

// 7/4 of the tensor cross each link between switches in each direction: algorithms of a flat ring can do no
// better, and a fluid one does no worse but for the frames on the way.
TEST(Simulator, ARingTakesWhatItsBytesTakeOverTheBottleneck) {
  constexpr std::int64_t elements = 6'250'000;
  const double bound_s = 1.75 * 4 * elements / goodput_bytes_per_s;
  const double time_s = simulated(trace_of(8, [](int) { return sum_of(elements); })).iteration_time_s;
  EXPECT_GE(time_s, bound_s);
  EXPECT_LE(time_s, 1.01 * both_ways * bound_s);
}

netem::Topology with_delay(netem::Topology topology, double delay_s) {
  for (netem::Link& link : topology.links) {
    if (!link.forward.rate_bit_per_s) continue;
    link.forward.impairments.delay_s = delay_s;
    link.backward.impairments.delay_s = delay_s;
  }
  return topology;
}

netem::Topology star_with_delay(double delay_s) {
  return with_delay(netem::load_topology(bundled_topologies().find("star", {}, {}).string()), delay_s);
}

// A streamed piece of a block leaves for the next worker when it has come. Gloo has two segments under way, each of which
// waits for its receiver's notice. A way crosses two links.
TEST(Simulator, ARingOfShortBlocksTakesTheDelaysOfItsRounds) {
  constexpr std::int64_t elements = 500'000;
  constexpr double way_s = 2 * 0.02;
  const auto time_s = [](bool is_streamed) {
    return simulated(trace_of(8, [](int) { return sum_of(elements); }), no_compute,
                     star_with_delay(way_s / 2), {.is_streamed = is_streamed})
        .iteration_time_s;
  };
  const double bound_s = 1.75 * 4 * elements / goodput_bytes_per_s;
  const double block_s = both_ways * bound_s / 14;
  EXPECT_NEAR(time_s(true), 14 * (way_s + block_s / 16) + block_s, 0.02 * time_s(true));
  EXPECT_NEAR(time_s(false), 14 * (2 * way_s + block_s / 2) + block_s / 2, 0.02 * time_s(false));
}

// Something is always under way.
TEST(Simulator, ARingOfLongBlocksHidesTheDelays) {
  constexpr std::int64_t elements = 6'250'000;
  const double bound_s = 1.75 * 4 * elements / goodput_bytes_per_s;
  for (const bool is_streamed : {true, false}) {
    const double time_s = simulated(trace_of(8, [](int) { return sum_of(elements); }), no_compute,
                                    star_with_delay(0.02), {.is_streamed = is_streamed})
                              .iteration_time_s;
    EXPECT_GE(time_s, both_ways * bound_s);
    EXPECT_LE(time_s, 1.05 * both_ways * bound_s);
  }
}

// Along the tree each link between switches carries the tensor once in each direction, both at a time.
TEST(Simulator, ATreeTakesTheTensorOnceOverEachBottleneck) {
  constexpr std::int64_t elements = 6'250'000;
  const double bound_s = 4.0 * elements / goodput_bytes_per_s;
  const double time_s = time_along_tree([](int) { return sum_of(elements); });
  EXPECT_GE(time_s, bound_s);
  EXPECT_LE(time_s, 1.03 * both_ways * bound_s);
  EXPECT_EQ(time_along_tree([](int) { return sum_of(0); }), 0);
  EXPECT_EQ(time_along_tree([](int) { return sum_of(elements); }, 1), 0);
}

// An exchange of changes takes 0.3 s or so here; a step, 0.2 s.
TEST(Simulator, LetsAnExchangeOverlapWithTheStepsAfterIt) {
  CommunicationTrace trace = trace_of(8, [](int) { return sum_of(500'000); });
  const ComputeTimes times = {.load_s = 0.01, .ready_s = {0.05}, .compute_s = 0.17, .finish_s = 0.02};
  const double exchange_s = simulated(trace).iteration_time_s;
  ASSERT_GT(exchange_s, 0.2);
  ASSERT_LT(exchange_s, 0.4);
  const auto overlapping = [&](std::int64_t steps) {
    for (Exchange& exchange : trace.exchanges) exchange.overlap_steps = steps;
    return Simulator(three_switch_without_bursts(), trace, times)
        .iterate(JointStep{0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U});
  };
  const SimulatedIteration after = overlapping(0);
  EXPECT_NEAR(after.iteration_time_s, 0.2 + exchange_s, 1e-4);
  EXPECT_NEAR(after.exposed_exchange_s, exchange_s, 1e-4);
  const SimulatedIteration one = overlapping(1);
  EXPECT_NEAR(one.iteration_time_s, exchange_s, 1e-4);
  EXPECT_NEAR(one.exposed_exchange_s, exchange_s - 0.2, 1e-4);
  const SimulatedIteration hidden = overlapping(3);
  EXPECT_NEAR(hidden.iteration_time_s, 3 * 0.2, 1e-9);
  EXPECT_EQ(hidden.exposed_exchange_s, 0);
}

// Five workers' codes go into the left island in four bits, those of three out of it in three.
TEST(Simulator, CodesAreSummedAlongTheTreeInAsFewBitsAsTheyNeed) {
  static constexpr std::int64_t codes = 25'000'000;
  const auto call = [](int) {
    return AllReduceCall{.type = ElementType::int8, .elements = codes, .largest_code = 1};
  };
  const double bound_s = 0.5 * codes / goodput_bytes_per_s;
  const double time_s = time_along_tree(call);
  EXPECT_GE(time_s, bound_s);
  EXPECT_LE(time_s, 1.03 * both_ways * bound_s);
  EXPECT_GE(simulated(trace_of(8, call)).iteration_time_s, 1.75 * codes / goodput_bytes_per_s);
}

// To the root and from it at the same time, unlike other sums.
TEST(Simulator, SumsOfCodesGoBothWaysAtTheSameTime) {
  constexpr double delay_s = 0.05;
  constexpr double way_s = 2 * delay_s;
  const auto time_s = [](const AllReduceCall& call) {
    return simulated(trace_of(2, [&](int) { return call; }), no_compute, star_with_delay(delay_s),
                     {.reduction_tree = {-1, 0}})
        .iteration_time_s;
  };
  EXPECT_NEAR(time_s({.type = ElementType::int8, .elements = 1000, .largest_code = 1}), way_s, 0.1 * way_s);
  EXPECT_NEAR(time_s({.type = ElementType::int8, .elements = 1000}), 2 * way_s, 0.1 * way_s);
}

// The root has the largest value first, but the last codes, which wait for the other worker to have that value, too. So the
// other one begins its next step before the root.
TEST(Simulator, WhoHasItsResultEarlyBeginsItsNextStepEarly) {
  constexpr double delay_s = 0.05;
  constexpr double way_s = 2 * delay_s;
  CommunicationTrace trace = trace_of(2, [](int) { return AllReduceCall{.elements = 1}; });
  const AllReduceCall codes = {.type = ElementType::int8, .elements = 1000, .largest_code = 1};
  for (Exchange& exchange : trace.exchanges) exchange.buckets[0].push_back(codes);
  const double time_s =
      simulated(trace, no_compute, star_with_delay(delay_s), {.reduction_tree = {-1, 0}}).iteration_time_s;
  EXPECT_NEAR(time_s, 2 * way_s, 0.1 * way_s);  // three ways if both began together
}

// As much over each edge as was recorded: here into the left island most.
TEST(Simulator, SumsOfEntriesTakeWhatTheirEdgesCarry) {
  constexpr std::int64_t into_left = 1'500'000;
  constexpr std::int64_t elsewhere = 1'000'000;
  // parents: 4 0 0 -1 3 3 5 5.
  const auto call = [](int rank) {
    const std::vector<std::vector<int>> neighbours = {{1, 2, 4}, {0},       {0}, {4, 5},
                                                      {0, 3},    {3, 6, 7}, {5}, {5}};
    SparseAllReduceCall sum{.elements = 10'000'000};
    for (const int other : neighbours[static_cast<std::size_t>(rank)]) {
      sum.edges.push_back({.neighbour = other,
                           .sent = rank == 4 && other == 0 ? into_left : elsewhere,
                           .received = rank == 0 && other == 4 ? into_left : elsewhere});
    }
    return sum;
  };
  const double time_s = time_along_tree(call);
  EXPECT_GE(time_s, into_left / goodput_bytes_per_s);
  EXPECT_LE(time_s, 1.03 * into_left / goodput_bytes_per_s);
  EXPECT_THROW(simulated(trace_of(8, call)), Error);
}

// The blocks of five workers go into the left island, those of three out of it.
TEST(Simulator, AnAllGatherAlongTheTreeBringsEachBlockOnce) {
  static constexpr std::int64_t bytes = 400'000;
  const double time_s =
      time_along_tree([](int) { return AllGatherCall{.counts = std::vector<std::int64_t>(8, bytes)}; });
  EXPECT_GE(time_s, 5.0 * bytes / goodput_bytes_per_s);
  EXPECT_LE(time_s, 1.03 * 5.0 * bytes / goodput_bytes_per_s);
}

TEST(Simulator, ABroadcastAlongTheTreeCrossesEachBottleneckOnce) {
  for (int root = 0; root < 8; ++root) {
    const double time_s =
        time_along_tree([root](int) { return BroadcastCall{.elements = 250'000, .root = root}; });
    EXPECT_GE(time_s, 1e6 / goodput_bytes_per_s) << root;
    EXPECT_LE(time_s, 1.06 * 1e6 / goodput_bytes_per_s) << root;
  }
}

TEST(Simulator, ASmallSumTakesHops) {
  const double time_s = simulated(trace_of(8, [](int) { return sum_of(16); })).iteration_time_s;
  const double frame_s = 8 * netem::full_frame_bytes / cap_bit_per_s;
  EXPECT_GT(time_s, 4 * frame_s);
  EXPECT_LT(time_s, 14 * 2 * frame_s);
}

// Six workers form groups of two and of three, there and back. In each step a notice crosses two links, then a message does.
TEST(Simulator, ASmallSumOfSixWorkersTakesFourSteps) {
  constexpr double delay_s = 0.01;
  const netem::Topology star = star_with_delay(delay_s);
  for (const bool is_streamed : {false, true}) {
    const double time_s =
        simulated(trace_of(6, [](int) { return sum_of(16); }), no_compute, star, {.is_streamed = is_streamed})
            .iteration_time_s;
    EXPECT_NEAR(time_s, 4 * 2 * 2 * delay_s, delay_s);
  }
}

// The notice of who receives, then the message.
TEST(Simulator, MessagesOverGlooWaitForTheirReceiver) {
  constexpr double delay_s = 0.01;
  constexpr double way_s = 2 * delay_s;
  const auto time_s = [&](const std::function<CollectiveCall(int)>& call_of, const ComputeTimes& times) {
    return simulated(trace_of(4, call_of), times, star_with_delay(delay_s), {.is_streamed = true})
        .iteration_time_s;
  };
  const std::vector<std::int64_t> counts(4, 16);
  const auto all_to_all = [&](int) { return AllToAllCall{.sent = counts, .received = counts}; };
  EXPECT_NEAR(time_s(all_to_all, no_compute), 2 * way_s, 0.1 * way_s);
  const auto barrier = [](int) { return BarrierCall{}; };
  EXPECT_NEAR(time_s(barrier, no_compute), 2 * 2 * way_s, 0.1 * way_s);
  // The next round begins before this one's message has come to the last level.
  const auto broadcast = [](int) { return BroadcastCall{.elements = 16}; };
  EXPECT_NEAR(time_s(broadcast, no_compute), 2 * way_s, 0.1 * way_s);
  // A sender asks, is answered, and goes on.
  const auto point_to_point = [](int rank) {
    if (rank == 0) return PointToPointCall{.message_bytes = 16, .messages = {{.repeat = 3}}};
    return PointToPointCall{.message_bytes = 16, .messages = {{.to = 0, .bytes = 16}}};
  };
  EXPECT_NEAR(time_s(point_to_point, no_compute), 2 * way_s, 0.1 * way_s);
}

// There is room for one message from each other worker, here one, so that each waits until the one before it is received.
TEST(Simulator, PointToPointMessagesWaitForRoom) {
  constexpr double delay_s = 0.01;
  constexpr double way_s = 2 * delay_s;
  const auto call = [](int rank) {
    return PointToPointCall{.message_bytes = 16,
                            .messages = {{.to = rank == 0 ? -1 : 0, .bytes = 16, .repeat = 3}}};
  };
  EXPECT_NEAR(simulated(trace_of(2, call), no_compute, star_with_delay(delay_s)).iteration_time_s,
              3 * 2 * way_s, 0.1 * way_s);
}

// The second piece's notice leaves when the first piece has come.
TEST(Simulator, ALongBroadcastIsSentInPieces) {
  constexpr double delay_s = 0.5;
  const auto time_s = [](std::int64_t bytes) {
    const auto call = [bytes](int) { return BroadcastCall{.type = ElementType::uint8, .elements = bytes}; };
    return simulated(trace_of(2, call), no_compute, star_with_delay(delay_s)).iteration_time_s;
  };
  EXPECT_NEAR(time_s(broadcast_piece_bytes + 1) - time_s(broadcast_piece_bytes), 2 * 2 * delay_s, 0.01);
}

TEST(Simulator, ASmallSumFitsIntoTheBursts) {
  EXPECT_EQ(
      simulated(trace_of(8, [](int) { return sum_of(16); }), no_compute, three_switch()).iteration_time_s, 0);
}

TEST(Simulator, SwappingTakesTheLeastHops) {
  const auto time_s = [](std::int64_t elements, bool is_streamed) {
    const CommunicationTrace trace = trace_of(8, [elements](int) { return sum_of(elements); });
    return simulated(trace, no_compute, three_switch_without_bursts(), {.is_streamed = is_streamed})
        .iteration_time_s;
  };
  EXPECT_LT(time_s(16, true), 0.6 * time_s(16, false));
  EXPECT_EQ(time_s(1024, true), time_s(1024, false));
}

// Of 8 workers in 3 + 2 + 3, each sends 5 others a message over the nearer cut; 15 cross it each way.
TEST(Simulator, AllToAllFillsTheCut) {
  static constexpr std::int64_t bytes = 100'000;
  const auto call = [](int) {
    const std::vector<std::int64_t> counts(8, bytes);
    return AllToAllCall{.sent = counts, .received = counts};
  };
  const double bound_s = 15.0 * bytes / goodput_bytes_per_s;
  const double time_s = simulated(trace_of(8, call)).iteration_time_s;
  EXPECT_GE(time_s, bound_s);
  EXPECT_LE(time_s, 1.01 * both_ways * bound_s);
}

// Every block crosses each cut once in each direction, but those that end their way before it.
TEST(Simulator, AnAllGatherTakesAboutItsBlocks) {
  static constexpr std::int64_t bytes = 400'000;
  const auto call = [](int) { return AllGatherCall{.counts = std::vector<std::int64_t>(8, bytes)}; };
  const double time_s = simulated(trace_of(8, call)).iteration_time_s;
  const double expected_s = both_ways * 7.0 * bytes / goodput_bytes_per_s;
  EXPECT_NEAR(time_s, expected_s, 0.02 * expected_s);
}

// The largest block crosses two cuts on its way from rank 0. In rounds it passes one after the other, and holds up
// the smaller ones.
TEST(Simulator, AStreamedAllGatherForwardsTheLargestBlockWhileItArrives) {
  const auto time_s = [](bool is_streamed) {
    const auto call = [](int) {
      std::vector<std::int64_t> counts(8, 400'000);
      counts[0] = 4'000'000;
      return AllGatherCall{.counts = std::move(counts)};
    };
    return simulated(trace_of(8, call), no_compute, three_switch_without_bursts(),
                     {.is_streamed = is_streamed})
        .iteration_time_s;
  };
  const double bound_s = 6.4e6 / goodput_bytes_per_s;  // all blocks but the receiver's
  EXPECT_GE(time_s(true), bound_s);
  EXPECT_LE(time_s(true), 1.03 * both_ways * bound_s);
  EXPECT_GE(time_s(false), 1.3 * bound_s);
}

// Along the tree from w6 four copies of a megabyte leave the right switch for the middle one.
TEST(Simulator, ABroadcastReachesAll) {
  const auto call = [](int) { return BroadcastCall{.elements = 250'000, .root = 6}; };
  const double time_s = simulated(trace_of(8, call)).iteration_time_s;
  EXPECT_GT(time_s, 4e6 / goodput_bytes_per_s);
  EXPECT_LT(time_s, 7e6 / goodput_bytes_per_s);  // all copies, one after the other
}

// Rank 0 has sent the message before the last worker receives it.
TEST(Simulator, RankZeroWaitsForTheLastWorker) {
  const ComputeTimes times = {.ready_s = {0.2}, .compute_s = 0.2, .finish_s = 0.1};
  const auto call = [](int) { return BroadcastCall{.elements = 250'000}; };
  const SimulatedIteration iteration = simulated(trace_of(8, call), times);
  EXPECT_GT(iteration.iteration_time_s, 0.3 + 1e6 / goodput_bytes_per_s);
  EXPECT_NEAR(iteration.exposed_exchange_s, iteration.iteration_time_s - 0.3, 1e-9);
  EXPECT_NEAR(iteration.exchange_s, iteration.exposed_exchange_s, 1e-9);
}

TEST(Simulator, PointToPointMessagesAreReceivedWhoeverSentThem) {
  const auto call = [](int rank) {
    if (rank == 0) return PointToPointCall{.message_bytes = 1000, .messages = {{.repeat = 7}}};
    return PointToPointCall{.message_bytes = 1000, .messages = {{.to = 0, .bytes = 1000}}};
  };
  EXPECT_NEAR(simulated(trace_of(8, call)).iteration_time_s, 5 * 1000 / goodput_bytes_per_s, 1e-3);
}

TEST(Simulator, CallsThatWaitForEverAreRefused) {
  const auto call = [](int rank) {
    return PointToPointCall{
        .message_bytes = 1,
        .messages = {{.to = rank == 0 ? -1 : 0, .bytes = 1, .repeat = rank == 0 ? 9 : 1}}};
  };
  EXPECT_THROW(simulated(trace_of(8, call)), Error);
}

TEST(Simulator, ComputingHidesWhatFitsBesideIt) {
  const CommunicationTrace trace = trace_of(8, [](int) { return sum_of(1'000'000); });
  const double exchange_s = simulated(trace).iteration_time_s;
  const ComputeTimes slow = {.load_s = 1, .ready_s = {2}, .compute_s = 10, .finish_s = 0.5};
  const SimulatedIteration hidden = simulated(trace, slow);
  EXPECT_DOUBLE_EQ(hidden.iteration_time_s, 11.5);
  EXPECT_EQ(hidden.exposed_exchange_s, 0);
  const ComputeTimes late = {
      .load_s = 1, .ready_s = {10}, .compute_s = 10, .finish_s = 0.5, .encode_s = 0.2, .decode_s = 0.3};
  const SimulatedIteration exposed = simulated(trace, late);
  EXPECT_NEAR(exposed.iteration_time_s, 11.5 + 0.2 + exchange_s + 0.3, 1e-4);
  EXPECT_NEAR(exposed.exposed_exchange_s, 0.5 + exchange_s, 1e-4);
}

// Two workers, which end each sum together.
TEST(Simulator, EncodesBetweenCollectivesToo) {
  const netem::Topology pair = netem::load_topology(bundled_topologies().find("pair", {}, {}).string());
  CommunicationTrace trace = trace_of(2, [](int) { return sum_of(1'000'000); });
  const double sum_s = simulated(trace, no_compute, pair).iteration_time_s;
  EXPECT_GT(sum_s, 0);
  for (Exchange& each : trace.exchanges) each.buckets[0].push_back(sum_of(1'000'000));
  const ComputeTimes times = {.ready_s = {0}, .encode_s = 0.2, .between_collectives_s = 0.15};
  const SimulatedIteration iteration = simulated(trace, times, pair);
  EXPECT_NEAR(iteration.iteration_time_s, 2 * sum_s + 0.2, 1e-3);
  EXPECT_NEAR(iteration.exchange_s, 2 * sum_s, 1e-3);
}

// Along a tree the longer of coding and exchange, elsewhere one after the other.
TEST(Simulator, CodesWhilePiecesAreUnderWay) {
  const netem::Topology pair = netem::load_topology(bundled_topologies().find("pair", {}, {}).string());
  const CollectiveRouting tree = {.reduction_tree = {-1, 0}};
  AllReduceCall codes = {.type = ElementType::int8, .elements = 8'000'000, .largest_code = 1};
  const SimulatedIteration sum = simulated(trace_of(2, [&](int) { return codes; }), no_compute, pair, tree);
  const double sum_s = sum.iteration_time_s;
  codes.in_chunks = true;
  const CommunicationTrace trace = trace_of(2, [&](int) { return codes; });
  const auto coded = [&](double encode_s, double decode_s, const CollectiveRouting& routing) {
    return simulated(
        trace, {.ready_s = {0}, .encode_s = encode_s, .decode_s = decode_s, .overlapped_decode_s = decode_s},
        pair, routing);
  };
  EXPECT_NEAR(coded(0.4 * sum_s, 0.5 * sum_s, tree).iteration_time_s, sum_s, 1e-9);
  EXPECT_NEAR(coded(0.4 * sum_s, 0.5 * sum_s, tree).exchange_s, sum.exchange_s - 0.9 * sum_s, 1e-9);
  EXPECT_NEAR(coded(2 * sum_s, sum_s, tree).iteration_time_s, 3 * sum_s, 1e-9);
  EXPECT_NEAR(coded(2 * sum_s, sum_s, tree).exchange_s, 0, 1e-9);
  const double ring_s = coded(0, 0, {}).iteration_time_s;
  EXPECT_NEAR(coded(2 * sum_s, sum_s, {}).iteration_time_s, ring_s + 3 * sum_s, 1e-3);
}

// Its encoding and decoding take that share of the gradient's.
TEST(Simulator, SaysHowMuchOfTheGradientAStepExchanges) {
  const netem::Topology topology = three_switch();
  const CommunicationTrace trace = trace_of(2, [](int) { return sum_of(16); });
  const Simulator simulator(topology, trace, no_compute);
  EXPECT_EQ(simulator.iterate({0, 1}).exchanged_share, 1);
  EXPECT_EQ(simulator.iterate({std::nullopt, std::nullopt}).exchanged_share, 0);
}

TEST(Simulator, OneWorkerAndLocalStepsTakeTheirComputing) {
  const ComputeTimes times = {.load_s = 0.1, .ready_s = {0.2}, .compute_s = 0.3, .finish_s = 0.4};
  EXPECT_DOUBLE_EQ(simulated(trace_of(1, [](int) { return sum_of(1000); }), times).iteration_time_s, 0.8);
  CommunicationTrace local = trace_of(2, [](int) { return sum_of(1000); });
  local.workers = {{{std::nullopt, 1}}, {{std::nullopt, 1}}};
  EXPECT_DOUBLE_EQ(simulated(local, times).iteration_time_s, 0.8);
}

}  // namespace
}  // namespace thinpipe
