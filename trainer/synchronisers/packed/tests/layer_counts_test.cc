// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/layer_counts.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Two layers of 4 and 6 weights, in one bucket, and a bias.
std::vector<ParameterInfo> counted_layers() {
  return {{.name = "first", .size = 4, .dimensions = 2},
          {.name = "bias", .size = 2, .dimensions = 1},
          {.name = "second", .size = 6, .dimensions = 2}};
}

Bucket two_layer_bucket() {
  return {.size = 10,
          .slices = {{.parameter = 2, .offset = 0, .size = 6}, {.parameter = 0, .offset = 6, .size = 4}}};
}

void count_step(LayerCounts& counts, const std::vector<std::uint32_t>& indices) {
  counts.stage(two_layer_bucket(), indices);
  counts.commit();
}

Json exchanged_in(const LayerCounts& counts, std::size_t layer) {
  return counts.state().at("layers").at(layer).at("exchanged");
}

TEST(LayerCounts, CountsTheEntriesOfEachLayerByStep) {
  LayerCounts counts(counted_layers());
  EXPECT_EQ(counts.state().at("steps"), 0);
  EXPECT_EQ(exchanged_in(counts, 0), Json::array());
  count_step(counts, {0, 5, 6});
  count_step(counts, {});
  count_step(counts, {6, 7, 8, 9});
  EXPECT_EQ(counts.state(), Json({{"steps", 3},
                                  {"steps_per_interval", 1},
                                  {"layers",
                                   {{{"name", "first"}, {"weights", 4}, {"exchanged", {1, 0, 4}}},
                                    {{"name", "second"}, {"weights", 6}, {"exchanged", {2, 0, 0}}}}}}));
}

TEST(LayerCounts, ASkippedStepIsNotCounted) {
  LayerCounts counts(counted_layers());
  counts.stage(two_layer_bucket(), {0, 6});
  counts.discard();
  count_step(counts, {0});
  EXPECT_EQ(counts.state().at("steps"), 1);
  EXPECT_EQ(exchanged_in(counts, 0), Json::array({0}));
  EXPECT_EQ(exchanged_in(counts, 1), Json::array({1}));
}

// Step i exchanges one entry of the second layer if i is even.
TEST(LayerCounts, JoinsNeighboursInsteadOfGrowing) {
  LayerCounts counts(counted_layers());
  for (int step = 0; step < LayerCounts::max_intervals; ++step) {
    count_step(counts, step % 2 == 0 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{});
  }
  EXPECT_EQ(counts.state().at("steps_per_interval"), 1);
  EXPECT_EQ(std::ssize(exchanged_in(counts, 1)), LayerCounts::max_intervals);
  count_step(counts, {1, 2});
  EXPECT_EQ(counts.state().at("steps_per_interval"), 2);
  std::vector<int> expected(LayerCounts::max_intervals / 2, 1);
  expected.push_back(2);
  EXPECT_EQ(exchanged_in(counts, 1), Json(expected));
}

TEST(LayerCounts, ContinuesFromACheckpoint) {
  LayerCounts whole(counted_layers());
  LayerCounts resumed(counted_layers());
  for (int step = 0; step < 40; ++step) count_step(whole, {0, 7, 8});
  TensorMap state;
  whole.save(state, "synchroniser.");
  resumed.load(state, "synchroniser.");
  for (LayerCounts* each : {&whole, &resumed}) count_step(*each, {9});
  EXPECT_EQ(resumed.state(), whole.state());
  EXPECT_EQ(resumed.state().at("steps"), 41);
}

}  // namespace
}  // namespace thinpipe::trainer
