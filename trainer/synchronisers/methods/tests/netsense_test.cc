// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using trainer::testing::balanced_step;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

constexpr Observation slow_network = {.sent_bytes = 1, .exchange_s = 2, .compute_s = 1};
constexpr Observation fast_network = {.sent_bytes = 1, .exchange_s = 0.5, .compute_s = 1};

std::vector<Json> adjustable_methods() {
  return {{{"name", "topk"}, {"ratio", 0.1}},
          {{"name", "topk_chunked"}, {"ratio", 0.1}, {"chunk_size", 5}},
          {{"name", "dgc"}, {"ratio", 0.1}, {"momentum", 0.0}},
          {{"name", "gmc"}, {"ratio", 0.1}, {"momentum", 0.0}},
          {{"name", "gmc"}, {"ratio", 0.1}, {"momentum", 0.0}, {"sparsifier", "random_block"}},
          {{"name", "ok_topk"}, {"ratio", 0.1}},
          {{"name", "spardl"}, {"ratio", 0.1}}};
}

Json sensing(const Json& inner) {
  return {{"name", "netsense"}, {"minimum_ratio", 0.01}, {"maximum_ratio", 0.4}, {"inner", inner}};
}

std::unique_ptr<Synchroniser> make(const Json& method, const World& world) {
  return SynchroniserRegistry::instance().make(
      method, {"test", "/synchroniser"},
      {.parameters = world.parameters, .kept = world.kept, .weights = world.weights});
}

TEST(NetSense, SendsWhatItsInnerMethodWouldSendWithTheRatioOfTheNetwork) {
  const World world = make_world(1000, false);
  for (const Json& inner : adjustable_methods()) {
    const auto method = make(sensing(inner), world);
    const auto expect_ratio = [&](double ratio) {
      Json fixed = inner;
      fixed["ratio"] = ratio;
      EXPECT_EQ(method->traffic(world.bucket, 4).payload_bytes,
                make(fixed, world)->traffic(world.bucket, 4).payload_bytes)
          << inner << ratio;
      EXPECT_DOUBLE_EQ(method->state().at("ratio").get<double>(), ratio);
    };
    expect_ratio(0.1);
    method->observe(slow_network);
    expect_ratio(0.05);
    for (int step = 0; step < 5; ++step) method->observe(fast_network);
    expect_ratio(0.4);
    for (int step = 0; step < 9; ++step) method->observe(slow_network);
    expect_ratio(0.01);
  }
}

// The residual stays complete, whatever the ratio does. A session observes a slow network in two of three steps.
TEST(NetSense, LosesNothingWhenTheRatioChanges) {
  const World world = make_world(300, false);
  for (const Json& inner : adjustable_methods()) {
    run_in_process(3, [&](Collective& network) {
      Session session(sensing(inner), world, network);
      for (int step = 1; step <= 7; ++step) {
        const auto out =
            balanced_step(session, world, network, integer_gradient(world, network.rank(), step), step);
        EXPECT_LT(out.lost, 0.01) << inner << step;
      }
    });
  }
}

TEST(NetSense, RefusesMethodsWithoutARatioAndLimitsThatContradict) {
  const World world = make_world(10, false);
  const auto refusal = [&](const Json& options) {
    Json method = {{"name", "netsense"}};
    method.update(options);
    try {
      make(method, world);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({{"inner", {{"name", "dense"}}}}),
              HasSubstr("/synchroniser/inner/name: \"dense\" cannot be put inside netsense"));
  EXPECT_THAT(refusal({{"inner", {{"name", "netsense"}}}}),
              HasSubstr("\"netsense\" cannot be put inside netsense"));
  const Json warming_up = {{"name", "dgc"}, {"momentum", 0.0}, {"warm_up_steps", 100}};
  EXPECT_THAT(refusal({{"inner", warming_up}}),
              HasSubstr("/synchroniser/inner/warm_up_steps: must be 0 inside netsense"));
  EXPECT_THAT(refusal({{"inner", {{"name", "deepreduce"}, {"inner", warming_up}}}}),
              HasSubstr("/synchroniser/inner/inner/warm_up_steps: must be 0 inside netsense"));
  EXPECT_THAT(
      refusal({{"minimum_ratio", 0.5}}),
      HasSubstr("/synchroniser/minimum_ratio: must be at most maximum_ratio, which is 0.1, but is 0.5"));
}

TEST(NetSense, CannotBePutInsideLocalSteps) {
  EXPECT_THAT(
      [] {
        make({{"name", "diloco"}, {"inner", {{"name", "netsense"}}}}, make_world(10, false));
      },
      ::testing::ThrowsMessage<InputError>(HasSubstr("\"netsense\" cannot be put inside diloco")));
}

}  // namespace
}  // namespace thinpipe::trainer
