// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/entries/ok_topk_choice.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::balanced_step;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::residual_of;
using trainer::testing::Session;
using trainer::testing::World;

std::int64_t nonzero_count(const torch::Tensor& tensor) {
  return tensor.count_nonzero().item<std::int64_t>();
}

// k = 1. Worker 0 contributes 4 at index 0, worker 1 contributes 3 at index 1. Both have fewer entries than
// there are workers, so the regions are [0, 2) and [2, 4): worker 0 sums 4 3, of which the largest is 4.
//   e of worker 0: 0 1 0 0;  of worker 1, whose 3 was not used: 0 3 0 2
// In the second step both thresholds are just below 4 or 3. Worker 1 contributes 3 again, which as a sum is
// not above the threshold of just below 4. Until the next estimate thresholds change by no more than a
// percent.
TEST(OkTopk, ByHand) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "ok_topk"}, {"ratio", 0.25}}, world, network);
    const bool first = network.rank() == 0;
    const torch::Tensor gradient =
        first ? torch::tensor({4.0F, 1.0F, 0.0F, 0.0F}) : torch::tensor({0.0F, 3.0F, 0.0F, 2.0F});
    EXPECT_TRUE(session.step(gradient, 1).equal(torch::tensor({2.0F, 0.0F, 0.0F, 0.0F})));
    const torch::Tensor left =
        first ? torch::tensor({0.0F, 1.0F, 0.0F, 0.0F}) : torch::tensor({0.0F, 3.0F, 0.0F, 2.0F});
    EXPECT_TRUE(residual_of(session, world).equal(left));
    EXPECT_EQ(nonzero_count(session.step(torch::zeros({4}), 2)), 0);
    EXPECT_TRUE(residual_of(session, world).equal(left));
  });
}

// With an estimate in every step, residuals are sent at once: in the second step, 1 of worker 0 and 3 of
// worker 1, both at index 1.
TEST(OkTopk, EstimatesWhenDue) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "ok_topk"}, {"ratio", 0.25}, {"threshold_every", 1}}, world, network);
    const bool first = network.rank() == 0;
    session.step(first ? torch::tensor({4.0F, 1.0F, 0.0F, 0.0F}) : torch::tensor({0.0F, 3.0F, 0.0F, 2.0F}),
                 1);
    EXPECT_TRUE(session.step(torch::zeros({4}), 2).equal(torch::tensor({0.0F, 2.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(residual_of(session, world)
                    .equal(first ? torch::zeros({4}) : torch::tensor({0.0F, 0.0F, 0.0F, 2.0F})));
  });
}

TEST(OkTopk, AnEstimatingStepAppliesExactlyK) {
  const World world = make_world(200, false);
  for (const int workers : {1, 3, 4}) {
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "ok_topk"}, {"ratio", 0.1}, {"threshold_every", 1}}, world, network);
      for (int step = 1; step <= 3; ++step) {
        EXPECT_EQ(nonzero_count(session.step(integer_gradient(world, network.rank(), step), step)), 20)
            << workers;
      }
      Session few({{"name", "ok_topk"}, {"ratio", 0.1}}, world, network);
      torch::Tensor sparse = torch::zeros({200});
      sparse[7] = 1;
      sparse[150] = -1;
      EXPECT_EQ(nonzero_count(few.step(sparse, 1)), 2) << "no more entries than there are";
    });
  }
}

// The second step has only residuals, hardly any of which pass the thresholds of the first step's k = 100.
TEST(OkTopk, SendsMoreAsSoonAsTheRatioHasGrown) {
  constexpr int workers = 4;
  const World world = make_world(10'000, false);
  torch::manual_seed(1);
  const torch::Tensor gradients = torch::randn({workers, world.bucket.size});
  run_in_process(workers, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session({{"name", "ok_topk"}, {"ratio", 0.01}}, world, metered);
    EXPECT_EQ(nonzero_count(session.step(gradients[network.rank()], 1)), 100);
    dynamic_cast<AdjustableRatio&>(session.method()).set_ratio(0.02);
    metered.begin_section();
    EXPECT_EQ(nonzero_count(session.step(torch::zeros({world.bucket.size}), 2)), 200);
    // The sizes of messages, k entries for the owners, and k/N of this worker's own region.
    EXPECT_EQ(metered.end_section().payload_bytes, 4 * workers + 4 + 8 * (200 + 200 / workers));
  });
}

TEST(OkTopk, ConservesIntegersWhateverItsThresholds) {
  const World world = make_world(60, false);
  for (const int workers : {2, 3, 5, 8}) {
    run_in_process(workers, [&](Collective& network) {
      Session session({{"name", "ok_topk"}, {"ratio", 0.1}, {"threshold_every", 3}, {"boundaries_every", 2}},
                      world, network);
      for (int step = 1; step <= 8; ++step) {
        // Thresholds are soon too low, and later too high.
        const torch::Tensor gradient = integer_gradient(world, network.rank(), step).mul(step < 5 ? step : 0);
        EXPECT_LT(balanced_step(session, world, network, gradient, step).lost, 1e-3)
            << workers << " workers, step " << step;
      }
    });
  }
}

TEST(OkTopk, ShortIndicesChangeTheMessagesOnly) {
  const World world = make_world(1000, false);
  run_in_process(3, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session plain({{"name", "ok_topk"}, {"ratio", 0.1}}, world, network);
    Session brief({{"name", "ok_topk"}, {"ratio", 0.1}, {"indices", "u16"}}, world, metered);
    for (int step = 1; step <= 4; ++step) {
      const torch::Tensor gradient = integer_gradient(world, network.rank(), step);
      const double claimed = brief.method().traffic(world.bucket, 3).payload_bytes;
      metered.begin_section();
      const torch::Tensor out = brief.step(gradient, step);
      EXPECT_LE(metered.end_section().payload_bytes, claimed) << step;
      EXPECT_TRUE(plain.step(gradient, step).equal(out)) << step;
    }
  });
}

// k = 12 of 100, 99, …, 1: a threshold passes at most 16; with 8 to 15 it does not change.
TEST(OkTopkChoice, FollowsTheCounts) {
  const torch::Tensor descending = torch::arange(100, 0, -1).to(torch::kFloat);
  const auto choose = [&](float threshold) {
    OkTopkChoice choice{.own_threshold = threshold};
    const auto count = choice.choose_own(floats(descending), 12, false).size();
    return std::pair(count, choice.own_threshold);
  };
  EXPECT_EQ(choose(90), std::pair(std::size_t{10}, 90.0F));
  EXPECT_EQ(choose(85), std::pair(std::size_t{15}, 85.0F));
  EXPECT_EQ(choose(84), std::pair(std::size_t{16}, 84 * 1.012F)) << "more than 5k/4";
  EXPECT_EQ(choose(93), std::pair(std::size_t{7}, 93 / 1.012F)) << "fewer than 2k/3";
  const auto [count, threshold] = choose(50);
  EXPECT_EQ(count, 12U) << "more than 4k/3: an exact choice";
  EXPECT_NEAR(threshold, 89, 1e-4) << "just below the 12th";
}

TEST(OkTopkChoice, OfAllOwnersFollowsTheCounts) {
  const auto choose = [](std::uint32_t count) {
    std::vector<SparseEntry> gathered;
    for (std::uint32_t i = 0; i < count; ++i) gathered.push_back({i, static_cast<float>(count - i)});
    OkTopkChoice choice{.sum_threshold = 0.5F};
    const std::size_t applied = choice.choose_of_all(gathered, 12, false).size();
    EXPECT_EQ(applied, count) << "all gathered entries are applied";
    return choice.sum_threshold;
  };
  EXPECT_EQ(choose(16), 0.5F);
  EXPECT_EQ(choose(7), 0.5F / 1.008F);
  EXPECT_NEAR(choose(40), 29, 1e-4) << "just below 29, the 12th of 40, 39, …";
}

// Values from a Gaussian that grows or shrinks by half a percent per step, after one estimate. A constant
// threshold would soon pass three times as many or hardly any.
TEST(OkTopkChoice, CountsStayNearKWhereTheDataDrift) {
  constexpr std::int64_t k = 2500;
  torch::manual_seed(1);
  const torch::Tensor gaussian = torch::randn({50000});
  for (const double growth : {1.005, 0.995}) {
    OkTopkChoice choice;
    torch::Tensor values = gaussian.clone();
    EXPECT_EQ(choice.choose_own(floats(values), k, true).size(), 2500U);
    for (int step = 1; step <= 100; ++step) {
      values.mul_(growth);
      const auto count = static_cast<double>(choice.choose_own(floats(values), k, false).size());
      EXPECT_GT(count, 0.6 * k) << growth << ", step " << step;
      EXPECT_LT(count, 1.35 * k) << growth << ", step " << step;
    }
  }
}

TEST(OkTopkChoice, RegionsAreTheMeanOfWhatIsBestForEach) {
  run_in_process(2, [&](Collective& network) {
    OkTopkChoice choice;
    const std::vector<std::uint32_t> own = network.rank() == 0 ? std::vector<std::uint32_t>{1, 2, 10, 11}
                                                               : std::vector<std::uint32_t>{0, 30, 41, 90};
    choice.divide_anew(own, 100, network);
    EXPECT_EQ(choice.boundaries, (std::vector<std::int64_t>{0, (10 + 41) / 2, 100}));
  });
}

// Adds a number to every sum that a worker receives.
class AddingToSums : public Borrowed {
 public:
  AddingToSums(Collective& inner, std::int64_t more) : Borrowed(inner), more_(more) {}
  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    Borrowed::all_reduce(tensor, reduction);
    tensor.add_(more_);
  }

 private:
  std::int64_t more_;
};

TEST(OkTopkChoice, RegionsThatReachBeyondTheBucketAreRefused) {
  run_in_process(2, [&](Collective& network) {
    OkTopkChoice choice;
    for (const std::int64_t more : {-1000, 1000}) {
      AddingToSums adding(network, more);
      EXPECT_THROW(choice.divide_anew(std::vector<std::uint32_t>{1, 2, 10, 11}, 100, adding),
                   CollectiveError);
    }
  });
}

TEST(OkTopkChoice, IsReadBackForTheSameBucketOnly) {
  const OkTopkChoice choice{
      .age = 5, .latest_k = 2, .own_threshold = 1.5F, .sum_threshold = 0.25F, .boundaries = {0, 3, 10}};
  TensorMap state;
  save_ok_topk_choice(choice, state, "x.");
  const OkTopkChoice same = load_ok_topk_choice(state, "x.", 10);
  EXPECT_EQ(same.age, 5);
  EXPECT_EQ(same.latest_k, 2);
  EXPECT_EQ(same.own_threshold, 1.5F);
  EXPECT_EQ(same.sum_threshold, 0.25F);
  EXPECT_EQ(same.boundaries, choice.boundaries);
  EXPECT_EQ(load_ok_topk_choice(state, "x.", 11).age, 0) << "a bucket of another size";
  EXPECT_EQ(load_ok_topk_choice(state, "y.", 10).age, 0) << "a bucket that was not saved";
  state["x.boundaries"] = torch::tensor(std::vector<std::int64_t>{0, 11, 10}, torch::kLong);
  EXPECT_THROW(load_ok_topk_choice(state, "x.", 10), Error);
}

}  // namespace
}  // namespace thinpipe::trainer
