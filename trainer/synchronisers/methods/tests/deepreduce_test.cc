// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"
#include "trainer/synchronisers/deepreduce/value_code.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using trainer::testing::balanced_step;
using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

Json deepreduce(const std::string& indices, const std::string& values, double ratio) {
  return {{"name", "deepreduce"},
          {"inner", {{"name", "topk"}, {"ratio", ratio}}},
          {"indices", indices},
          {"values", values}};
}

// Every valid pair of codes, with more than 1000 entries, which the conformance suite rarely has.
class DeepReduce : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  static Json method(double ratio) { return deepreduce(GetParam().first, GetParam().second, ratio); }
};

TEST_P(DeepReduce, KeepsWhatWasNotDecodedAsResidual) {
  const World world = make_world(2500, true);
  run_in_process(3, [&](Collective& network) {
    Session session(method(0.05), world, network);
    for (int step = 1; step <= 3; ++step) {
      const auto [out, lost] =
          balanced_step(session, world, network, real_gradient(world, network.rank(), step), step);
      EXPECT_TRUE(testing::identical_on_all(network, out));
      EXPECT_LE(lost, 1e-5);
    }
  });
}

TEST_P(DeepReduce, LeavesZerosAndWhatIsPrunedAtZero) {
  const World world = make_world(2500, true);
  run_in_process(2, [&](Collective& network) {
    Session session(method(1), world, network);
    EXPECT_TRUE(session.step(torch::zeros({2500}), 1).eq(0).all().item<bool>());
    const torch::Tensor out = session.step(real_gradient(world, network.rank(), 2), 2);
    const torch::Tensor first = out.narrow(0, 0, world.kept[0].numel());
    EXPECT_TRUE(first.masked_select(world.kept[0].logical_not()).eq(0).all().item<bool>());
  });
}

TEST_P(DeepReduce, ShowsANanToAllAndForgetsIt) {
  const World world = make_world(2500, false);
  run_in_process(2, [&](Collective& network) {
    Session poisoned(method(0.05), world, network);
    Session clean(method(0.05), world, network);
    const auto gradient = [&](int step) { return real_gradient(world, network.rank(), step); };
    EXPECT_TRUE(poisoned.step(gradient(1), 1).equal(clean.step(gradient(1), 1)));
    torch::Tensor bad = gradient(2);
    if (network.rank() == 1) bad[1234] = INFINITY;
    EXPECT_FALSE(poisoned.step(bad, 2, false).isfinite().all().item<bool>());
    EXPECT_TRUE(poisoned.step(gradient(3), 3).equal(clean.step(gradient(3), 3)));
  });
}

std::vector<std::pair<std::string, std::string>> pairs_of_codes() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& indices : deepreduce_index_code_names()) {
    for (const std::string& values : value_code_names()) {
      if (indices != "plain" || values != "f32") out.emplace_back(indices, values);
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, DeepReduce, ::testing::ValuesIn(pairs_of_codes()), [](const auto& instance) {
  return fmt::format("{}_{}", instance.param.first, instance.param.second);
});

TEST(DeepReduceMethod, WithP0GivesWhatTopKGivesAndMoreOfTheRest) {
  const World world = make_world(5000, false);
  run_in_process(1, [&](Collective& network) {
    Session deep(deepreduce("bloom_p0", "f32", 0.02), world, network);
    Session plain({{"name", "topk"}, {"ratio", 0.02}}, world, network);
    const torch::Tensor gradient = real_gradient(world, 0, 1) + 2;  // none is zero
    const torch::Tensor out = deep.step(gradient, 1);
    const torch::Tensor largest = plain.step(gradient, 1).ne(0);
    EXPECT_TRUE(out.masked_select(largest).equal(gradient.masked_select(largest)));
    const torch::Tensor sent = out.ne(0);
    EXPECT_TRUE(out.masked_select(sent).equal(gradient.masked_select(sent)));
  });
}

// P0 sends more entries than were chosen; P1 and P2 send other entries.
TEST(DeepReduceMethod, MasksTheMomentumOfWhatItSent) {
  const World world = make_world(2500, false);
  for (const std::string indices : {"bloom_p0", "bloom_p1", "bloom_p2", "plain"}) {
    Json method = {{"name", "deepreduce"},
                   {"inner", {{"name", "dgc"}, {"ratio", 0.02}, {"sample", 1}}},
                   {"indices", indices},
                   {"values", indices == "plain" ? "qsgd" : "f32"}};
    if (indices != "plain") method["false_positive_rate"] = 0.1;
    run_in_process(1, [&](Collective& network) {
      Session session(method, world, network);
      const torch::Tensor gradient = real_gradient(world, 0, 1) + 2;  // none is zero
      const torch::Tensor sent = session.step(gradient, 1).ne(0);
      TensorMap state;
      session.method().save(state, "s.");
      const torch::Tensor momentum =
          torch::cat({state.at("s.momentum.residual.a"), state.at("s.momentum.residual.b")});
      EXPECT_TRUE(momentum.equal(gradient.masked_fill(sent, 0))) << indices;
    });
  }
}

TEST(DeepReduceMethod, HasThePropertiesOfItsSparsifier) {
  const auto properties = [](Json inner) {
    const Json options = {{"name", "deepreduce"}, {"inner", std::move(inner)}, {"indices", "bloom_p1"}};
    return SynchroniserRegistry::instance().make(options, {"test", ""}, {})->properties();
  };
  EXPECT_FALSE(properties({{"name", "topk"}, {"ratio", 0.1}}).applies_momentum);
  EXPECT_FALSE(properties({{"name", "topk"}, {"ratio", 0.1}}).traffic_depends_on_data);
  EXPECT_TRUE(properties({{"name", "dgc"}}).applies_momentum);
  EXPECT_TRUE(properties({{"name", "dgc"}}).traffic_depends_on_data);
}

std::string deepreduce_refusal(const Json& options) {
  try {
    SynchroniserRegistry::instance().make(options, {"x.json", "/synchroniser"}, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DeepReduceMethod, RefusesWhatItCannotServe) {
  Json options = deepreduce("bloom_p0", "f32", 0.1);
  EXPECT_EQ(deepreduce_refusal(options), "accepted");
  options["inner"] = {{"name", "qsgd"}};
  EXPECT_THAT(deepreduce_refusal(options),
              HasSubstr("/synchroniser/inner/name: must be a method that sends entries"));
  options["inner"] = deepreduce("bloom_p1", "qsgd", 0.1);
  EXPECT_THAT(deepreduce_refusal(options),
              HasSubstr("/synchroniser/inner/name: must be a method that sends"));
  options["inner"] = {{"name", "topk"}, {"ratio", 2}};
  EXPECT_THAT(deepreduce_refusal(options), HasSubstr("/synchroniser/inner/ratio: must be"));
  options.erase("inner");
  EXPECT_THAT(deepreduce_refusal(options), HasSubstr("\"inner\" is missing"));
  EXPECT_THAT(deepreduce_refusal(deepreduce("plain", "f32", 0.1)), HasSubstr("sparsifiers already send"));
}

}  // namespace
}  // namespace thinpipe::trainer
