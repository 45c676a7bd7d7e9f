// SPDX-License-Identifier: Apache-2.0
#include "harness/run/hold_warning.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(HoldWarning, IsOfCurvesThatAreTooShortForTheirTargets) {
  const Json config = {{"targets", {0.8}}, {"hold", 3}};
  EXPECT_EQ(warn_of_few_evaluations(3, config), std::nullopt);
  EXPECT_EQ(
      warn_of_few_evaluations(2, config),
      "its curve has 2 evaluations, but a target must be held for 3: evaluate more often, or set \"hold\" to 1");
  EXPECT_EQ(warn_of_few_evaluations(0, {{"targets", Json::array()}, {"hold", 3}}), std::nullopt);
  EXPECT_EQ(warn_of_few_evaluations(1, {{"targets", {0.8}}}), std::nullopt) << "without hold";
}

}  // namespace
}  // namespace thinpipe
