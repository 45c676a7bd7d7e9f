// SPDX-License-Identifier: Apache-2.0
// Methods that apply momentum themselves, in whole training runs. Biases and normalisation layers, which they
// leave dense, must also have momentum and weight decay.
#include <gtest/gtest.h>

#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::configured;
using trainer::testing::largest_difference;
using trainer::testing::Result;
using trainer::testing::train;

struct MomentumCase {
  const char* name;
  Json method;  // keeps every entry
  bool nesterov = false;
};

class OwnMomentum : public ::testing::TestWithParam<MomentumCase> {};

Result trained(const Json& method, double momentum, bool nesterov, int workers = 3,
               const Json& clip_norm = nullptr) {
  const Json optimiser = {{"name", "sgd"},
                          {"learning_rate", 0.05},
                          {"momentum", momentum},
                          {"nesterov", nesterov},
                          {"weight_decay", 0.05}};
  return train(configured(
      workers,
      {{"optimiser", optimiser}, {"synchroniser", method}, {"training", {{"clip_norm", clip_norm}}}}));
}

TEST_P(OwnMomentum, IsTheOptimisersWhereEverythingIsKept) {
  const Json dense = {{"name", "dense"}};
  const Result optimisers = trained(dense, 0.9, GetParam().nesterov);
  const Result own = trained(GetParam().method, 0, false);
  // Bound on the differences of float sums in another order, after 16 steps; gmc's movement includes the
  // weights' rounding.
  EXPECT_LT(largest_difference(optimisers, own), 5e-5);
  EXPECT_GT(largest_difference(optimisers, trained(dense, 0, false)), 1e-2);
}

// With one worker, its own gradient is the mean, so that both clip the same gradient.
TEST_P(OwnMomentum, IsOfClippedGradients) {
  const Json dense = {{"name", "dense"}};
  const Result optimisers = trained(dense, 0.9, GetParam().nesterov, 1, 0.1);
  const Result own = trained(GetParam().method, 0, false, 1, 0.1);
  EXPECT_LT(largest_difference(optimisers, own), 5e-5);
  EXPECT_GT(largest_difference(optimisers, trained(dense, 0.9, GetParam().nesterov, 1)), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnMomentum,
    ::testing::Values(
        MomentumCase{"dgc", {{"name", "dgc"}, {"ratio", 1}, {"sample", 1}, {"masking", false}}},
        MomentumCase{"dgc_nesterov",
                     {{"name", "dgc"}, {"ratio", 1}, {"sample", 1}, {"masking", false}, {"nesterov", true}},
                     true},
        MomentumCase{"dgc_random_block",
                     {{"name", "dgc"}, {"ratio", 1}, {"masking", false}, {"sparsifier", "random_block"}}},
        MomentumCase{"gmc", {{"name", "gmc"}, {"ratio", 1}}},
        MomentumCase{"gmc_plus_random_block",
                     {{"name", "gmc"}, {"ratio", 1}, {"sparsifier", "random_block"}, {"detached", 0.5}}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thinpipe::trainer
