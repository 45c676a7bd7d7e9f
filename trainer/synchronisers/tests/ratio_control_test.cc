// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/ratio_control.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

constexpr double compute_s = 0.1;

// A network whose exchanges take a latency and the time of their bytes.
struct Network {
  double latency_s = 0;
  double whole_gradient_s = 1;  // for all entries

  double exchange_s(double ratio) const { return latency_s + ratio * whole_gradient_s; }
};

void take_steps(RatioControl& control, const Network& network, int count) {
  for (int i = 0; i < count; ++i)
    control.observe({.exchange_s = network.exchange_s(control.ratio()), .compute_s = compute_s});
}

// The acceptance of netsense: within ten iterations of a step in the cap, at least 80 % of the time that an exchange may
// take is used, and not much more.
void expect_on_budget(const RatioControl& control, const Network& network) {
  const double share = network.exchange_s(control.ratio()) / compute_s;
  EXPECT_GE(share, 0.8) << control.ratio();
  EXPECT_LE(share, 1.2) << control.ratio();
}

TEST(RatioControl, UsesItsTimeWithinTenStepsOfAStepInTheCap) {
  const RatioLimits limits{.minimum_ratio = 1e-4, .maximum_ratio = 1};
  for (const double latency_s : {0.0, 0.03}) {
    RatioControl control(limits, 0.01);
    const Network fast{.latency_s = latency_s, .whole_gradient_s = 0.5};
    const Network slow{.latency_s = latency_s, .whole_gradient_s = 5};
    for (const Network& network : {fast, slow, fast}) {
      take_steps(control, network, 10);
      expect_on_budget(control, network);
    }
  }
}

TEST(RatioControl, StaysWithinItsLimits) {
  const RatioLimits limits{.minimum_ratio = 0.01, .maximum_ratio = 0.04};
  EXPECT_EQ(RatioControl(limits, 0.5).ratio(), 0.04);
  EXPECT_EQ(RatioControl(limits, 0.001).ratio(), 0.01);
  RatioControl control(limits, 0.02);
  take_steps(control, {.whole_gradient_s = 1000}, 5);
  EXPECT_EQ(control.ratio(), 0.01);
  take_steps(control, {.latency_s = 1}, 5);  // even an empty exchange takes too long
  EXPECT_EQ(control.ratio(), 0.01);
  take_steps(control, {.whole_gradient_s = 0}, 5);
  EXPECT_EQ(control.ratio(), 0.04);
}

TEST(RatioControl, KeepsARatioThatIsCloseEnough) {
  RatioControl control({.minimum_ratio = 0.001, .maximum_ratio = 1, .exchange_share = 0.5}, 0.1);
  for (const double exchange_s : {0.046, 0.054}) {
    control.observe({.exchange_s = exchange_s, .compute_s = compute_s});
    EXPECT_EQ(control.ratio(), 0.1);
  }
  control.observe({.exchange_s = 0.0625, .compute_s = compute_s});
  EXPECT_DOUBLE_EQ(control.ratio(), 0.08);
}

// One step with a hiccup must not move the budget far.
TEST(RatioControl, FollowsTheMeanComputeTime) {
  RatioControl control({.minimum_ratio = 0.001, .maximum_ratio = 1}, 0.1);
  control.observe({.exchange_s = 0.1, .compute_s = 0.1});
  control.observe({.exchange_s = 0.1, .compute_s = 0.9});
  const Json state = control.state();
  EXPECT_DOUBLE_EQ(state.at("mean_exchange_budget_s").get<double>(), (0.1 + 0.2) / 2);
  EXPECT_DOUBLE_EQ(state.at("mean_exchange_s").get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(state.at("mean_ratio").get<double>(), 0.1);
}

TEST(RatioControl, ContinuesFromACheckpoint) {
  const RatioLimits limits{.minimum_ratio = 1e-4, .maximum_ratio = 1};
  RatioControl first(limits, 0.01);
  EXPECT_TRUE(first.state().at("mean_exchange_s").is_null());
  take_steps(first, {.latency_s = 0.01, .whole_gradient_s = 3}, 3);
  TensorMap state;
  first.save(state, "method.");
  RatioControl second(limits, 0.5);
  second.load(state, "method.");
  EXPECT_EQ(second.state(), first.state());
  for (RatioControl* control : {&first, &second}) take_steps(*control, {.whole_gradient_s = 1}, 2);
  EXPECT_EQ(second.ratio(), first.ratio());
}

}  // namespace
}  // namespace thinpipe::trainer
