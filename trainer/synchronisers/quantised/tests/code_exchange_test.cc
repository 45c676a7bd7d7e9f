// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/code_exchange.hh"

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using testing::make_world;
using testing::real_gradient;
using testing::Session;

// Returns the smallest number of workers whose codes are summed.
int summed_from(int gathered_bits, bool along_tree) {
  int workers = 1;
  while (!code_sums_are_smaller({.workers = workers, .sums_along_tree = along_tree}, gathered_bits, 1))
    ++workers;
  return workers;
}

TEST(CodeExchange, SumsWhereThatLoadsTheNetworkLess) {
  EXPECT_EQ(summed_from(2, true), 3);
  EXPECT_EQ(summed_from(2, false), 9);
  EXPECT_EQ(summed_from(1, true), 6);
  EXPECT_EQ(summed_from(1, false), 17);
  EXPECT_TRUE(code_sums_are_smaller({.workers = 127, .sums_along_tree = true}, 1, 1));
  EXPECT_FALSE(code_sums_are_smaller({.workers = 128, .sums_along_tree = true}, 1, 1))
      << "the sums do not fit in an int8";
}

TEST(CodeExchange, IsTheMethodsUnlessItIsGiven) {
  for (const char* method : {"terngrad", "signsgd", "thc"}) {
    const auto sums = [&](const NetworkShape& network, Json options = Json::object()) {
      options["name"] = method;
      SynchroniserContext context;
      context.network = network;
      return SynchroniserRegistry::instance()
          .make(options, {"test", ""}, context)
          ->properties()
          .all_reduce_compatible;
    };
    EXPECT_TRUE(sums({.workers = 8, .sums_along_tree = true})) << method;
    EXPECT_FALSE(sums({.workers = 8})) << method;
    EXPECT_TRUE(sums({.workers = 8}, {{"exchange", "all_reduce"}})) << method;
  }
}

// Whichever exchange "auto" chooses, the results are the same.
TEST(CodeExchange, GivesTheSameEveryWay) {
  const testing::World world = make_world(1025, true);
  for (const char* method : {"terngrad", "signsgd", "thc"}) {
    run_in_process(3, [&](Collective& network) {
      const auto step = [&](bool along_tree) {
        const auto make = [&](SynchroniserContext context) {
          context.network = {.workers = 3, .sums_along_tree = along_tree};
          Json options = {{"name", method}};
          if (options["name"] == "signsgd") options["exchange"] = along_tree ? "all_reduce" : "auto";
          return SynchroniserRegistry::instance().make(options, {"test", ""}, context);
        };
        Session session(make, world, network);
        return session.step(real_gradient(world, network.rank(), 1), 1);
      };
      EXPECT_TRUE(step(true).equal(step(false))) << method;
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer
