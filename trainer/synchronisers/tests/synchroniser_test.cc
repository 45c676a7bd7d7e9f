// The contract of algorithms that every method is held to, and what each promises beyond it.
#include "trainer/synchronisers/synchroniser.hh"

#include <cmath>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer {
namespace {

using testing::exact_mean;
using testing::integer_gradient;
using testing::make_world;
using trainer::testing::Borrowed;
using trainer::testing::Session;
using trainer::testing::World;

struct Method {
  std::string name;
  Json options;
};

const std::vector<Method> methods = {
    {"dense", {{"name", "dense"}}},
    {"fp16", {{"name", "fp16"}}},
    {"topk_10_percent", {{"name", "topk"}, {"ratio", 0.1}}},
    {"topk_all", {{"name", "topk"}, {"ratio", 1.0}}},
    {"pactrain", {{"name", "pactrain"}}},
    {"pactrain_ternary", {{"name", "pactrain"}, {"values", "ternary"}}},
    {"pactrain_feedback", {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}}},
    {"pactrain_observed", {{"name", "pactrain"}, {"source", "observed"}}},
};

class EveryMethod : public ::testing::TestWithParam<std::tuple<Method, std::string, int>> {
 protected:
  const Json& options() const { return std::get<0>(GetParam()).options; }
  const std::string& backend() const { return std::get<1>(GetParam()); }
  int world_size() const { return std::get<2>(GetParam()); }

  std::vector<std::int64_t> sizes() const {
    const std::int64_t n = world_size();
    if (backend() == "gloo") return {n + 1, 1025};
    return {2, 3, n + 1, 255, 256, 257, 1023, 1025, 20011};
  }
};

TEST_P(EveryMethod, GivesTheSameBitsOnEveryWorkerAndSendsWhatItClaims) {
  for (const std::int64_t n : sizes()) {
    const World world = make_world(n, true);
    testing::run_world(backend(), world_size(), [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      Session session(options(), world, metered);
      for (int step = 1; step <= 3; ++step) {
        const ExpectedTraffic expected = session.method().traffic(world.bucket, network.world_size());
        metered.begin_section();
        const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
        const Section section = metered.end_section();
        EXPECT_TRUE(testing::identical_on_all(network, out)) << "n " << n << ", step " << step;
        EXPECT_EQ(static_cast<double>(section.payload_bytes), expected.payload_bytes) << "n " << n;
        EXPECT_NEAR(section.sent_bytes, expected.sent_bytes, 1e-6 * expected.sent_bytes) << "n " << n;
      }
    });
  }
}

TEST_P(EveryMethod, TurnsZeroIntoZero) {
  const World world = make_world(257, true);
  testing::run_world(backend(), world_size(), [&](Collective& network) {
    Session session(options(), world, network);
    EXPECT_TRUE(session.step(torch::zeros({257}), 1).eq(0).all().item<bool>());
  });
}

TEST_P(EveryMethod, ShowsOneWorkersNanToAllAndKeepsItOutOfItsState) {
  const World world = make_world(300, true);
  testing::run_world(backend(), world_size(), [&](Collective& network) {
    Session poisoned(options(), world, network);
    Session clean(options(), world, network);
    poisoned.step(integer_gradient(world, network.rank(), 1), 1);
    clean.step(integer_gradient(world, network.rank(), 1), 1);
    torch::Tensor bad = integer_gradient(world, network.rank(), 2);
    if (network.rank() == 0) bad[0] = std::nanf("");
    EXPECT_FALSE(std::isfinite(poisoned.step(bad, 2, false).sum().item<float>()));
    // fp16 answers a skipped step by halving its scale, which rounding at these magnitudes does not show.
    const torch::Tensor after = poisoned.step(integer_gradient(world, network.rank(), 3), 3);
    EXPECT_TRUE(torch::equal(after, clean.step(integer_gradient(world, network.rank(), 3), 3)));
  });
}

std::string label(const ::testing::TestParamInfo<EveryMethod::ParamType>& info) {
  return fmt::format("{}_{}_{}", std::get<0>(info.param).name, std::get<1>(info.param),
                     std::get<2>(info.param));
}
INSTANTIATE_TEST_SUITE_P(InProcess, EveryMethod,
                         ::testing::Combine(::testing::ValuesIn(methods), ::testing::Values("in_process"),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         label);
INSTANTIATE_TEST_SUITE_P(Gloo, EveryMethod,
                         ::testing::Combine(::testing::ValuesIn(methods), ::testing::Values("gloo"),
                                            ::testing::Values(2, 5)),
                         label);

// The methods that lose nothing on these inputs: integers up to 8, means in float32.
class ExactMethod : public ::testing::TestWithParam<Method> {};

TEST_P(ExactMethod, GivesTheMeanOverWorkers) {
  for (const int world_size : {1, 2, 3, 8}) {
    const World world = make_world(1025, true);
    run_in_process(world_size, [&](Collective& network) {
      Session session(GetParam().options, world, network);
      const torch::Tensor out =
          session.step(integer_gradient(world, network.rank(), 1), 1).to(torch::kDouble);
      const torch::Tensor error = (out - exact_mean(world, world_size, 1)).abs();
      if ((world_size & (world_size - 1)) == 0) {
        EXPECT_EQ(error.max().item<double>(), 0) << world_size << " workers: a power of two divides exactly";
      } else {
        // 11 bits of half precision for fp16, 24 for the others; |values| <= 8, one rounding a hop.
        const double rounding = GetParam().name == "fp16" ? 0x1p-11 : 0x1p-24;
        EXPECT_LE(error.max().item<double>(), 8 * world_size * rounding);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExactMethod,
                         ::testing::Values(methods[0], methods[1], methods[3], methods[4], methods[7]),
                         [](const auto& test) { return test.param.name; });

TEST(Fp16, HalvesItsScaleAfterAnOverflowAndSaysSoInItsState) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "fp16"}}, world, network);
    // 100 x 1024 is beyond half's 65504 when halved for two workers and summed.
    const torch::Tensor large = torch::full({4}, 100.0F);
    EXPECT_FALSE(std::isfinite(session.step(large, 1, false).sum().item<float>()));
    EXPECT_TRUE(torch::equal(session.step(large, 2), large));
    TensorMap state;
    session.method().save(state, "x.");
    EXPECT_EQ(state.at("x.scale")[0].item<double>(), 512);
  });
}

TEST(TopK, SendsTheLargestAndKeepsTheRestForLater) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.5}}, world, network);
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({1.0F, -5.0F, 3.0F, 2.0F}), 1),
                             torch::tensor({0.0F, -5.0F, 3.0F, 0.0F})));
    // e = (1, 0, 0, 2); with the gradient (2, 0, 0, 1) both become 3.
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({2.0F, 0.0F, 0.0F, 1.0F}), 2),
                             torch::tensor({3.0F, 0.0F, 0.0F, 3.0F})));
  });
}

TEST(TopK, ConservesWhatItDelays) {
  // Without new gradients the residual comes out in ceil(n / k) steps, and all that went in has then come
  // out.
  const World world = make_world(100, false);
  run_in_process(4, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.1}}, world, network);
    torch::Tensor total = session.step(integer_gradient(world, network.rank(), 1), 1);
    for (int step = 2; step <= 10; ++step) total += session.step(torch::zeros({100}), step);
    EXPECT_TRUE(torch::equal(total.to(torch::kDouble), exact_mean(world, 4, 1)));
    EXPECT_TRUE(session.step(torch::zeros({100}), 11).eq(0).all().item<bool>());
  });
}

TEST(TopK, ResidualFollowsItsParameterIntoAnotherLayout) {
  World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.25}}, world, network);
    session.step(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}), 1);  // leaves 1 2 | 3 0
    Bucket swapped = world.bucket;
    swapped.slices = {{.parameter = 1, .offset = 0, .size = 2}, {.parameter = 0, .offset = 2, .size = 2}};
    swapped.gradient = torch::zeros({4});
    session.method().prepare({swapped});
    session.method().begin_step(2);
    session.method().synchronise(swapped, network);
    EXPECT_TRUE(torch::equal(swapped.gradient, torch::tensor({3.0F, 0.0F, 0.0F, 0.0F})));
  });
}

TEST(TopK, StateRoundTripsThroughACheckpoint) {
  const World world = make_world(50, false);
  run_in_process(2, [&](Collective& network) {
    const Json options = {{"name", "topk"}, {"ratio", 0.1}};
    Session first(options, world, network);
    first.step(integer_gradient(world, network.rank(), 1), 1);
    TensorMap state;
    first.method().save(state, "s.");
    Session second(options, world, network);
    second.method().load(state, "s.");
    EXPECT_TRUE(torch::equal(first.step(integer_gradient(world, network.rank(), 2), 2),
                             second.step(integer_gradient(world, network.rank(), 2), 2)));
  });
}

TEST(TopK, ForgetsWhatItHeldBackOfWeightsThatArePruned) {
  World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.25}}, world, network);
    session.step(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}), 1);  // leaves 1 2 | 3 0
    session.method().adopt_masks({torch::tensor({true, false}), torch::Tensor()});
    session.method().prepare({world.bucket});
    EXPECT_TRUE(torch::equal(session.step(torch::zeros({4}), 2), torch::tensor({0.0F, 0.0F, 3.0F, 0.0F})));
    EXPECT_TRUE(torch::equal(session.step(torch::zeros({4}), 3), torch::tensor({1.0F, 0.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(session.step(torch::zeros({4}), 4).eq(0).all().item<bool>());
  });
}

std::string refusal(const Json& method) {
  try {
    SynchroniserRegistry::instance().make(method, {"x.json", "/synchroniser"}, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, OutOfRangeOrMistypedIsRefused) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal({{"name", "topk"}, {"ratio", 0}}),
              HasSubstr("/synchroniser/ratio: must be above 0 and at most 1"));
  EXPECT_THAT(refusal({{"name", "topk"}, {"ratio", 1.5}}),
              HasSubstr("must be above 0 and at most 1, but is 1.5"));
  EXPECT_THAT(refusal({{"name", "topk"}}), HasSubstr("\"ratio\" is missing"));
  EXPECT_THAT(refusal({{"name", "tpok"}, {"ratio", 0.1}}), HasSubstr("did you mean \"topk\"?"));
  EXPECT_THAT(refusal({{"name", "fp16"}, {"scale", 1000}}), HasSubstr("power of two"));
  EXPECT_THAT(refusal({{"name", "pactrain"}, {"values", "ternery"}}), HasSubstr("did you mean \"ternary\"?"));
  EXPECT_THAT(refusal({{"name", "pactrain"}, {"source", "observe"}}),
              HasSubstr("did you mean \"observed\"?"));
  EXPECT_THAT(refusal({{"name", "pactrain"}, {"stable_iterations", 0}}), HasSubstr("must be at least 1"));
  EXPECT_THAT(refusal({{"name", "pactrain"}, {"error_feedback", true}}),
              HasSubstr("/synchroniser/error_feedback: needs \"values\": \"ternary\""));
  EXPECT_THAT(refusal({{"name", "dense"}, {"ratio", 0.5}}), HasSubstr("unknown key \"ratio\""));
}

}  // namespace
}  // namespace thinpipe::trainer
