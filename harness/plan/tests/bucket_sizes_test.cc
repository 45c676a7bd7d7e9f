// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/bucket_sizes.hh"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/plan/collective_choices.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe {
namespace {

constexpr double mebibyte = 1 << 20;

// All-reduces of a 400 MB gradient over the three switches.
struct Choice {
  Setting setting;
  CheckedConfig training;

  Run run() const {
    Run run;
    run.workers = 8;
    run.setting = std::make_shared<const Setting>(setting);
    run.training = std::make_shared<const CheckedConfig>(training);
    CollectiveChoices().resolve(run);
    return run;
  }
};

Choice choice_at(double rate_bit_per_s, const char* collective = "island") {
  Choice choice;
  choice.setting.topology = netem::load_topology(source_path("topologies/three-switch.json"));
  netem::set_bottleneck_rate(choice.setting.topology, rate_bit_per_s, {});
  choice.training.config = {{"collective", {{"name", collective}}}};
  choice.training.plan = {{"gradient_bytes", 400e6},
                          {"sent_bytes_per_iteration", 700e6},
                          {"pairwise_bytes_per_iteration", 0},
                          {"codes_per_iteration", 0},
                          {"largest_code", 1}};
  return choice;
}

Run run_at(double rate_bit_per_s, const char* collective = "island") {
  return choice_at(rate_bit_per_s, collective).run();
}

double buckets_of(const Run& run) {
  return run.training->plan.at("gradient_bytes").get<double>() /
         static_cast<double>(suitable_bucket_bytes(run).value());
}

void delay_bottlenecks(netem::Topology& topology, double delay_s) {
  for (netem::Link& link : topology.links) {
    if (!link.forward.rate_bit_per_s) continue;
    link.forward.impairments.delay_s = delay_s;
    link.backward.impairments.delay_s = delay_s;
  }
}

// The exchange takes 33 s. Compares the cost of the chosen number of buckets with that of the best number.
TEST(SuitableBucketBytes, CostLittleMoreThanTheBestHoweverLongComputingTakes) {
  const auto run = run_at(100e6);
  const double exchange_s = 8 * 400e6 / 100e6 * 1514 / 1448;
  const double bucket_s = min_bucket_s(run);
  for (const double compute_s : {0.0, 0.05 * exchange_s, 0.25 * exchange_s, exchange_s, 10 * exchange_s}) {
    const auto cost_s = [&](double buckets) {
      return buckets * bucket_s + std::min(compute_s, exchange_s) / buckets;
    };
    double best_s = cost_s(1);
    for (int buckets = 2; buckets < 1000; ++buckets) best_s = std::min(best_s, cost_s(buckets));
    EXPECT_LT(cost_s(buckets_of(run)) - best_s, 0.55 * std::sqrt(exchange_s * bucket_s)) << compute_s;
  }
}

TEST(SuitableBucketBytes, AreWholeMebibytesAndAtLeastOne) {
  EXPECT_EQ(*suitable_bucket_bytes(run_at(100e6)) % (1 << 20), 0);
  Choice small = choice_at(100e6);
  small.training.plan["gradient_bytes"] = 10e6;
  EXPECT_EQ(*suitable_bucket_bytes(small.run()), 1 << 20);
}

TEST(SuitableBucketBytes, FasterLinksAndLongerDelaysTakeFewerBuckets) {
  EXPECT_LT(buckets_of(run_at(1e9)), 0.5 * buckets_of(run_at(100e6)));
  Choice choice = choice_at(100e6);
  const double near_s = min_bucket_s(choice.run());
  delay_bottlenecks(choice.setting.topology, 0.01);
  const auto far = choice.run();
  // Delays of both bottlenecks, or of one if the root is between them; up and down, twice.
  EXPECT_NEAR(min_bucket_s(far) - near_s, 0.04, 1e-6);
  EXPECT_LT(buckets_of(far), 0.6 * buckets_of(run_at(100e6)));
}

TEST(SuitableBucketBytes, LessTrafficTakesFewerBuckets) {
  Choice thin = choice_at(100e6);
  thin.training.plan["sent_bytes_per_iteration"] = 700e6 / 100;
  EXPECT_NEAR(buckets_of(thin.run()), buckets_of(run_at(100e6)) / 10, 0.3);
}

TEST(SuitableBucketBytes, AnExchangeThatTakesNoTimeGoesAtOnce) {
  Choice choice = choice_at(1e9);
  choice.training.plan["sent_bytes_per_iteration"] = 1;
  EXPECT_DOUBLE_EQ(static_cast<double>(*suitable_bucket_bytes(choice.run())),
                   std::ceil(400e6 / mebibyte) * mebibyte);
}

TEST(SuitableBucketBytes, ARingHasMoreHopsThanATree) {
  EXPECT_GT(min_bucket_s(run_at(1e9, "ring")), 2 * min_bucket_s(run_at(1e9)));
}

TEST(SuitableBucketBytes, NothingWhereNoLinkIsCapped) {
  Choice choice = choice_at(1e9);
  choice.setting.topology.kind = netem::TopologyKind::loopback;
  EXPECT_FALSE(suitable_bucket_bytes(choice.run()));
}

}  // namespace
}  // namespace thinpipe
