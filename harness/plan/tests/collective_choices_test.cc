// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/collective_choices.hh"

#include <memory>

#include <gtest/gtest.h>

#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

// The direct way between the first and the last switch is capped, the way over the one in between is not.
const Json detour = Json::parse(R"({
  "name": "detour", "forwarding": "routed", "switches": {"s": 3}, "hosts": {"w": 3},
  "links": [{"between": ["w0", "s0"]}, {"between": ["w1", "s1"]}, {"between": ["w2", "s2"]},
            {"between": ["s0", "s1"]}, {"between": ["s1", "s2"]},
            {"between": ["s2", "s0"], "rate": "100 Mbit/s", "bottleneck": true}]
})");

TEST(CollectiveChoices, ATreeThatCrossesNoCapIsBetterThanARingThatDoes) {
  thinpipe::Run run;
  run.workers = 3;
  run.setting = std::make_shared<const Setting>(
      Setting{.config = {}, .topology = netem::parse_topology(detour, {"detour.json", ""})});
  CheckedConfig training;
  training.config = {{"collective", {{"name", "auto"}}}};
  run.training = std::make_shared<const CheckedConfig>(training);
  CollectiveChoices().resolve(run);
  EXPECT_EQ(run.collective, "island");
  EXPECT_EQ(run.reduction_tree.size(), 3U);
}

}  // namespace
}  // namespace thinpipe
