// Methods that apply momentum themselves, in whole trainings: biases and normalisation layers, which they
// leave dense, must have it as well, and so must weight decay.
#include <gtest/gtest.h>

#include "trainer/tests/training.hh"

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

Result trained(const Json& method, double momentum, bool nesterov) {
  const Json optimiser = {{"name", "sgd"},
                          {"learning_rate", 0.05},
                          {"momentum", momentum},
                          {"nesterov", nesterov},
                          {"weight_decay", 0.05}};
  return train(configured(3, {{"optimiser", optimiser}, {"synchroniser", method}}));
}

TEST_P(OwnMomentum, IsTheOptimisersWhereEverythingIsKept) {
  const Json dense = {{"name", "dense"}};
  const Result optimisers = trained(dense, 0.9, GetParam().nesterov);
  const Result own = trained(GetParam().method, 0, false);
  // As far as float sums in another order go in 16 steps; gmc's movement carries the rounding of the weights.
  EXPECT_LT(largest_difference(optimisers, own), 5e-5);
  EXPECT_GT(largest_difference(optimisers, trained(dense, 0, false)), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnMomentum,
    ::testing::Values(
        MomentumCase{"dgc", {{"name", "dgc"}, {"ratio", 1}, {"sample", 1}, {"masking", false}}},
        MomentumCase{"dgc_nesterov",
                     {{"name", "dgc"}, {"ratio", 1}, {"sample", 1}, {"masking", false}, {"nesterov", true}},
                     true},
        MomentumCase{"gmc", {{"name", "gmc"}, {"ratio", 1}}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thinpipe::trainer
