// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

TEST(Diloco, StepsWithNesterovsMomentum) {
  const World world = make_world(2, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "diloco"}, {"learning_rate", 0.5}, {"momentum", 0.5}}, world, network);
    const auto own = static_cast<float>(4 + 8 * network.rank());  // mean 8
    // u = 8, and 0.5·(8 + 0.5·8); then u = 0.5·8 + 8 = 12, and 0.5·(8 + 0.5·12).
    EXPECT_TRUE(session.step(torch::tensor({own, -own}), 1).equal(torch::tensor({6.0F, -6.0F})));
    EXPECT_TRUE(session.step(torch::tensor({own, -own}), 2).equal(torch::tensor({7.0F, -7.0F})));
  });
}

// A parameter that the inner method leaves dense moves as all others do.
TEST(Diloco, StepsInTheDenseBucketToo) {
  const ParameterInfo bias{.name = "bias", .size = 2, .dimensions = 1};
  SynchroniserContext context;
  context.parameters = {bias};
  const Json options = {{"name", "diloco"},
                        {"learning_rate", 0.5},
                        {"momentum", 0.5},
                        {"inner", {{"name", "topk"}, {"ratio", 0.1}}}};
  const auto diloco = SynchroniserRegistry::instance().make(options, {"test", ""}, context);
  EXPECT_TRUE(diloco->leaves_dense(bias));
  Bucket bucket;
  bucket.gradient = torch::tensor({8.0F, -8.0F});
  bucket.slices = {{.parameter = 0, .offset = 0, .size = 2}};
  diloco->finish_dense(bucket, 2);
  EXPECT_TRUE(bucket.gradient.equal(torch::tensor({6.0F, -6.0F})));
}

TEST(Diloco, TakesAnyMethodThatAverages) {
  const auto make = [](const Json& inner) {
    SynchroniserRegistry::instance().make({{"name", "diloco"}, {"inner", inner}}, {"test", ""}, {});
  };
  for (const char* name : {"scaled_sign", "terngrad", "pactrain", "powersgd", "ef", "fp16"}) {
    EXPECT_NO_THROW(make({{"name", name}})) << name;
  }
  for (const char* name : {"diloco", "sbc", "gmc", "demo", "signsgd"}) {
    EXPECT_THAT(
        [&] {
          make({{"name", name}});
        },
        ::testing::ThrowsMessage<InputError>(
            HasSubstr(fmt::format("\"{}\" cannot be put inside diloco", name))));
  }
}

TEST(Diloco, RefusesOptionsThatWouldDoNothing) {
  const auto refusal = [](const char* outer, const Json& inner) {
    try {
      SynchroniserRegistry::instance().make({{"name", outer}, {"inner", inner}}, {"test", "/synchroniser"},
                                            {});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  for (const char* outer : {"diloco", "streaming_diloco"}) {
    const Json gmc = {{"name", "gmc"}, {"momentum", 0}};
    EXPECT_EQ(refusal(outer, gmc), "accepted");
    Json detached = gmc;
    detached["detached"] = 0.3;
    EXPECT_THAT(refusal(outer, detached),
                ::testing::AllOf(HasSubstr(fmt::format(
                                     "/synchroniser/inner/name: \"gmc\" cannot be put inside {}", outer)),
                                 HasSubstr("shifted weights"), HasSubstr("\"detached\": 0")));
    EXPECT_EQ(refusal(outer, {{"name", "ef"}, {"units", "gradient"}}), "accepted");
    EXPECT_THAT(refusal(outer, {{"name", "ef"}, {"units", "update"}}),
                HasSubstr(fmt::format("/synchroniser/inner/units: must be gradient inside {}", outer)));
  }
}

}  // namespace
}  // namespace thinpipe::trainer
